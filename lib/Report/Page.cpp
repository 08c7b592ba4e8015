//===- Page.cpp - the page around the numbers -----------------------------===//
#include "Sections.h"

using namespace layline;

namespace layline::runtime {
// By EmbedText.cmake, of the files of lib/Report/page.
extern const char kReportPage[], kReportStyle[], kReportScript[];
} // namespace layline::runtime

/// Text of an element or attribute.
static std::string escapeHtml(const std::string &text) {
  std::string escaped;
  for (char c : text)
    if (c == '&')
      escaped += "&amp;";
    else if (c == '<')
      escaped += "&lt;";
    else if (c == '>')
      escaped += "&gt;";
    else if (c == '"')
      escaped += "&quot;";
    else
      escaped += c;
  return escaped;
}

/// JSON inside of a script element: a browser ends it at "</script" and hides
/// what follows "<!--", wherever they stand. In JSON these characters are in
/// strings only, where each may be spelled by its number. What is no UTF-8 in a
/// name is replaced.
static std::string scriptJson(const report::ordered_json &numbers) {
  std::string text = numbers.dump(
      -1, ' ', true, report::ordered_json::error_handler_t::replace);
  std::string escaped;
  escaped.reserve(text.size());
  for (char c : text)
    if (c == '<')
      escaped += "\\u003c";
    else if (c == '>')
      escaped += "\\u003e";
    else if (c == '&')
      escaped += "\\u0026";
    else
      escaped += c;
  return escaped;
}

std::string report::pageOf(const std::string &title,
                           const ordered_json &numbers) {
  // One pass over the page: what is put in is not searched again.
  const std::pair<std::string, std::string> holes[] = {
      {"{{title}}", escapeHtml(title)},
      {"{{style}}", runtime::kReportStyle},
      {"{{numbers}}", scriptJson(numbers)},
      {"{{script}}", runtime::kReportScript}};
  std::string page = runtime::kReportPage, text;
  for (size_t at = 0; at < page.size();) {
    const std::pair<std::string, std::string> *found = nullptr;
    for (const auto &hole : holes)
      if (page.compare(at, hole.first.size(), hole.first) == 0)
        found = &hole;
    text += found ? found->second : std::string(1, page[at]);
    at += found ? found->first.size() : 1;
  }
  return text;
}
