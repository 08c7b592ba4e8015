//===- ChromeReader.cpp - the torch profiler's Chrome trace ---------------===//
//
// What the keys mean: PyTorch's kineto, libkineto/src/output_json.cpp. Old
// files write categories with capitals ("Kernel", "Memcpy", "Operator").
//
//===----------------------------------------------------------------------===//
#include "ChromeEvent.h"
#include "InputFile.h"
#include "TraceBuilder.h"
#include <istream>
#include <nlohmann/json.hpp>

using namespace layline::trace;
using json = nlohmann::json;

namespace {

/// Follows the text token by token and keeps one event at a time.
class ChromeHandler : public nlohmann::json_sax<json> {
public:
  ChromeHandler(const std::string &file, TraceBuilder &builder)
      : file(file), builder(builder) {}

  bool null() override { return scalar({ChromeScalar::Null}); }
  bool boolean(bool) override { return scalar({ChromeScalar::Boolean}); }
  bool number_integer(number_integer_t value) override {
    return scalar({ChromeScalar::Integer, value});
  }
  bool number_unsigned(number_unsigned_t value) override {
    return scalar({ChromeScalar::Integer, static_cast<int64_t>(value)});
  }
  bool number_float(number_float_t value, const string_t &text) override {
    return scalar({ChromeScalar::Fraction, 0, &text, value});
  }
  bool string(string_t &text) override {
    return scalar({ChromeScalar::Text, 0, &text});
  }
  bool binary(binary_t &) override { return true; }

  bool key(string_t &text) override {
    if (state == State::Event || state == State::Args)
      event.key = findKey(text);
    else
      name.swap(text);
    return true;
  }
  bool start_object(size_t) override {
    ++depth;
    switch (state) {
    case State::Start:
      state = State::Top;
      break;
    case State::Events:
      state = State::Event;
      eventDepth = depth;
      event.clear();
      break;
    case State::Event:
      if (event.key == ChromeKey::Args)
        state = State::Args;
      break;
    case State::Top:
      section = name;
      break;
    default:
      break;
    }
    return true;
  }
  bool end_object() override {
    if (state == State::Args && depth == eventDepth + 1) {
      state = State::Event;
    } else if (state == State::Event && depth == eventDepth) {
      event.finish(file, builder);
      state = State::Events;
    }
    if (--depth == 1)
      section.clear();
    return true;
  }
  bool start_array(size_t) override {
    ++depth;
    if (state == State::Start ||
        (state == State::Top && depth == 2 && name == "traceEvents")) {
      state = State::Events;
      eventsDepth = depth;
      foundEvents = true;
    } else if (state == State::Top && depth == 2) {
      section = name;
    } else if (state == State::Args) {
      event.openArray(depth - eventDepth - 1);
    }
    return true;
  }
  bool end_array() override {
    if (state == State::Events && depth == eventsDepth)
      state = State::Top;
    else if (state == State::Args)
      event.closeArray(depth - eventDepth - 1);
    if (--depth == 1)
      section.clear();
    return true;
  }
  bool parse_error(size_t position, const std::string &token,
                   const nlohmann::detail::exception &error) override {
    std::string_view what = error.what();
    bool atEnd =
        what.find("unexpected end of input") != std::string_view::npos ||
        what.find("missing closing quote") != std::string_view::npos;
    throw TraceError(
        file + ": byte " + std::to_string(position) + " of its text: found " +
        (atEnd ? "the end of the file"
               : "'" +
                     token.substr(token.size() -
                                  std::min<size_t>(token.size(), 40)) +
                     "'") +
        ", expected JSON to go on");
  }

  bool hasEvents() const { return foundEvents; }

private:
  enum class State { Start, Top, Events, Event, Args };

  bool scalar(const ChromeScalar &value) {
    if (state == State::Event && depth == eventDepth) {
      event.set(file, value);
    } else if (state == State::Args) {
      event.setArgument(file, value, depth - eventDepth - 1);
    } else if (state == State::Events) {
      throw TraceError(file + ": event " + std::to_string(event.number + 1) +
                       " of traceEvents: found " + describe(value) +
                       ", expected an object");
    } else if (state == State::Top) {
      setTop(value);
    }
    return true;
  }
  /// Keys in front of and behind the events.
  void setTop(const ChromeScalar &value) {
    if (depth == 1 && name == "traceEvents")
      throw TraceError(file + ": traceEvents: found " + describe(value) +
                       ", expected an array");
    if (depth == 1 && name == "baseTimeNanoseconds" &&
        value.kind == ChromeScalar::Integer) {
      builder.clockOffset = value.integer;
      builder.hasAbsoluteClock = true;
    } else if (section == "distributedInfo" && depth == 2 &&
               value.kind == ChromeScalar::Integer) {
      if (name == "rank")
        builder.rank = value.integer;
      else if (name == "world_size")
        builder.worldSize = value.integer;
    } else if (section == "deviceProperties" && depth == 3) {
      if (name == "id" && value.kind == ChromeScalar::Integer)
        device = value.integer;
      else if (name == "name" && value.kind == ChromeScalar::Text)
        builder.deviceNames[device] = *value.text;
    }
  }

  const std::string &file;
  TraceBuilder &builder;
  State state = State::Start;
  int depth = 0, eventDepth = 0, eventsDepth = 0;
  bool foundEvents = false;
  std::string name, section; ///< last key of the top level, what is open
  int64_t device = 0;
  ChromeEvent event;
};

} // namespace

std::vector<DeviceTrace>
layline::trace::readChromeTrace(const std::string &path,
                                const Progress &progress) {
  InputFile input(path, progress);
  std::istream stream(&input);
  TraceBuilder builder(path);
  ChromeHandler handler(path, builder);
  json::sax_parse(stream, &handler);
  if (!handler.hasEvents())
    throw TraceError(path + ": found JSON without traceEvents, expected a "
                            "Chrome trace of the torch profiler");
  return builder.finish();
}
