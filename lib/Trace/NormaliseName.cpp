//===- NormaliseName.cpp - names of kernels to compare with ---------------===//
#include "layline/Trace/KernelFamilies.h"
#include <cstdlib>
#include <cxxabi.h>
#include <memory>

using namespace layline::trace;

static std::string demangle(const std::string &name) {
  if (name.compare(0, 2, "_Z") != 0)
    return name;
  int status = 0;
  std::unique_ptr<char, void (*)(void *)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  // Names of types that the library does not know (DF16b before GCC 13) stay
  // mangled; what functions and namespaces are called is readable in them.
  return status == 0 ? std::string(text.get()) : name;
}

static void replaceAll(std::string &text, std::string_view what,
                       std::string_view by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos;
       at += by.size())
    text.replace(at, what.size(), by);
}

std::string layline::trace::normaliseName(const std::string &name) {
  std::string text = demangle(name);
  if (text.compare(0, 5, "void ") == 0)
    text.erase(0, 5);
  replaceAll(text, "<unnamed>", "(anonymous namespace)");
  for (std::string_view cast : {"(int)", "(bool)", "(unsigned int)", "(long)",
                                "(unsigned long)", "(short)", "(char)"})
    for (size_t at = 0; (at = text.find(cast, at)) != std::string::npos;) {
      // A cast has its number behind it; a list of parameters has not.
      size_t behind = at + cast.size();
      if (behind < text.size() &&
          (text[behind] == '-' || (text[behind] >= '0' && text[behind] <= '9')))
        text.erase(at, cast.size());
      else
        at = behind;
    }
  return text;
}
