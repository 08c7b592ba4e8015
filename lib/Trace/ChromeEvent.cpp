//===- ChromeEvent.cpp - one event of a Chrome trace ----------------------===//
#include "ChromeEvent.h"
#include <charconv>
#include <cmath>
#include <unordered_map>

using namespace layline::trace;

std::string layline::trace::describe(const ChromeScalar &value) {
  switch (value.kind) {
  case ChromeScalar::Null:
    return "null";
  case ChromeScalar::Boolean:
    return "a truth value";
  case ChromeScalar::Integer:
    return std::to_string(value.integer);
  case ChromeScalar::Fraction:
    return *value.text;
  case ChromeScalar::Text:
    return "the string '" + value.text->substr(0, 40) + "'";
  }
  return "";
}

ChromeKey layline::trace::findKey(const std::string &text) {
  static const std::unordered_map<std::string, ChromeKey> keys = {
      {"ph", ChromeKey::Phase},
      {"cat", ChromeKey::Category},
      {"name", ChromeKey::Name},
      {"ts", ChromeKey::Time},
      {"dur", ChromeKey::Duration},
      {"args", ChromeKey::Args},
      {"External id", ChromeKey::ExternalId},
      {"external id", ChromeKey::ExternalId},
      {"correlation", ChromeKey::Correlation},
      {"device", ChromeKey::Device},
      {"stream", ChromeKey::Stream},
      {"bytes", ChromeKey::Bytes},
      {"Input Dims", ChromeKey::Dims},
      {"Input dims", ChromeKey::Dims},
      {"Input type", ChromeKey::Types},
      {"Collective name", ChromeKey::CollectiveName},
      {"In msg nelems", ChromeKey::InElements},
      {"Out msg nelems", ChromeKey::OutElements},
      {"Group size", ChromeKey::GroupSize},
      {"dtype", ChromeKey::DType}};
  auto found = keys.find(text);
  return found == keys.end() ? ChromeKey::Other : found->second;
}

/// Microseconds as they are spelled to nanoseconds, exactly; fractions of a
/// nanosecond are rounded.
static std::optional<int64_t> toNanoseconds(const ChromeScalar &value) {
  constexpr int64_t kMost = INT64_MAX / 2000;
  if (value.kind == ChromeScalar::Integer)
    return std::abs(value.integer) < kMost
               ? std::optional<int64_t>(value.integer * 1000)
               : std::nullopt;
  if (value.kind != ChromeScalar::Fraction || !std::isfinite(value.fraction) ||
      std::abs(value.fraction) > static_cast<double>(kMost))
    return std::nullopt;
  const std::string &text = *value.text;
  size_t point = text.find('.');
  int64_t whole = 0;
  const char *begin = text.data();
  if (point == std::string::npos ||
      text.find_first_of("eE") != std::string::npos ||
      std::from_chars(begin, begin + point, whole).ptr != begin + point)
    return std::llround(value.fraction * 1000);
  int64_t part = 0, scale = 1000;
  for (size_t i = point + 1; i < text.size() && scale > 1; ++i) {
    scale /= 10;
    part += (text[i] - '0') * scale;
  }
  if (text.size() > point + 4 && text[point + 4] >= '5')
    ++part;
  return whole * 1000 + (text[0] == '-' ? -part : part);
}

void ChromeEvent::clear() {
  ++number;
  key = ChromeKey::Other;
  category.clear();
  name.clear();
  isComplete = hasTime = hasDuration = false;
  time = duration = 0;
  externalId = correlation = device = bytes = -1;
  stream = 0;
  if (!shapeText.empty()) {
    op = HostOperator();
    shapeText.clear();
  }
  call = CollectiveCall();
}

void ChromeEvent::fail(const std::string &file, const char *where,
                       const std::string &found, const char *expected) const {
  throw TraceError(
      file + ": event " + std::to_string(number) + " of traceEvents" +
      (name.empty() ? "" : " ('" + name.substr(0, 60) + "')") + ": " + where +
      ": found " + found + ", expected " + expected);
}

void ChromeEvent::set(const std::string &file, const ChromeScalar &value) {
  auto takeText = [&](const char *where, std::string &target) {
    if (value.kind != ChromeScalar::Text)
      fail(file, where, describe(value), "a string");
    target = *value.text;
  };
  auto takeTime = [&](const char *where, int64_t &target) {
    std::optional<int64_t> found = toNanoseconds(value);
    if (!found)
      fail(file, where, describe(value), "a number of microseconds");
    target = *found;
  };
  switch (key) {
  case ChromeKey::Phase:
    isComplete = value.kind == ChromeScalar::Text && *value.text == "X";
    break;
  case ChromeKey::Category:
    takeText("cat", category);
    break;
  case ChromeKey::Name:
    takeText("name", name);
    break;
  case ChromeKey::Time:
    takeTime("ts", time);
    hasTime = true;
    break;
  case ChromeKey::Duration:
    takeTime("dur", duration);
    hasDuration = true;
    break;
  case ChromeKey::Args:
    if (value.kind != ChromeScalar::Null)
      fail(file, "args", describe(value), "an object");
    break;
  default:
    break;
  }
}

/// Numbers that some versions write as strings.
static bool takeInteger(const ChromeScalar &value, int64_t &target) {
  if (value.kind == ChromeScalar::Integer) {
    target = value.integer;
    return true;
  }
  if (value.kind != ChromeScalar::Text)
    return false;
  const char *end = value.text->data() + value.text->size();
  auto [rest, error] = std::from_chars(value.text->data(), end, target);
  return error == std::errc() && rest == end;
}

void ChromeEvent::setArgument(const std::string &file,
                              const ChromeScalar &value, int depth) {
  auto take = [&](const char *where, int64_t &target) {
    if (depth == 0 && !takeInteger(value, target))
      fail(file, where, describe(value), "a whole number");
  };
  switch (key) {
  case ChromeKey::ExternalId:
    take("args.External id", externalId);
    break;
  case ChromeKey::Correlation:
    take("args.correlation", correlation);
    break;
  case ChromeKey::Device:
    take("args.device", device);
    break;
  case ChromeKey::Stream:
    take("args.stream", stream);
    break;
  case ChromeKey::Bytes:
    take("args.bytes", bytes);
    break;
  case ChromeKey::InElements:
    take("args.In msg nelems", call.inElements);
    break;
  case ChromeKey::OutElements:
    take("args.Out msg nelems", call.outElements);
    break;
  case ChromeKey::GroupSize:
    take("args.Group size", call.ranks);
    break;
  case ChromeKey::CollectiveName:
    if (value.kind == ChromeScalar::Text)
      call.name = *value.text;
    break;
  case ChromeKey::DType:
    if (value.kind == ChromeScalar::Text)
      call.dtype = *value.text;
    break;
  case ChromeKey::Dims:
    // [[888, 2880], [], ..]; dimensions of lists of tensors lie deeper.
    if (depth == 2 && value.kind == ChromeScalar::Integer && !op.dims.empty()) {
      op.dims.back().push_back(value.integer);
      shapeText += std::to_string(value.integer) + ",";
    } else if (depth == 1) {
      op.dims.emplace_back();
      shapeText += ";";
    }
    break;
  case ChromeKey::Types:
    if (depth == 1 && value.kind == ChromeScalar::Text) {
      op.types.push_back(*value.text);
      shapeText += *value.text + "|";
    }
    break;
  default:
    break;
  }
}

void ChromeEvent::openArray(int depth) {
  if (key == ChromeKey::Dims && depth == 2) {
    op.dims.emplace_back();
    shapeText += "[";
  }
}

void ChromeEvent::closeArray(int depth) {
  if (key == ChromeKey::Dims && depth == 2)
    shapeText += "]";
}

void ChromeEvent::finishDeviceEvent(const std::string &file,
                                    TraceBuilder &builder, EventKind kind) {
  if (!hasTime)
    fail(file, "ts", "nothing", "a number of microseconds");
  if (!hasDuration)
    fail(file, "dur", "nothing", "a number of microseconds");
  if (duration < 0)
    fail(file, "dur", std::to_string(duration) + " ns", "no negative time");
  if (name.empty())
    fail(file, "name", "nothing", "the name of what ran");
  DeviceEvent event;
  event.start = time;
  event.duration = duration;
  event.kind = kind;
  event.bytes = bytes;
  event.stream = static_cast<int32_t>(stream);
  event.name = builder.addName(name);
  // NCCL's arguments stand on its kernels too; one of them is enough.
  if (!call.name.empty() && externalId < 0) {
    op.name = "nccl:" + call.name;
    op.collective = call;
    externalId = -2 - number;
    builder.linkOperator(
        externalId,
        builder.addOperator(op.name + shapeText + call.dtype +
                                std::to_string(call.inElements) + "," +
                                std::to_string(call.outElements),
                            op));
    op = HostOperator();
  }
  builder.addEvent(device < 0 ? 0 : device, event, externalId, correlation);
}

void ChromeEvent::finishOperator(TraceBuilder &builder) {
  if (externalId < 0)
    return;
  std::string text = name + "\n" + shapeText;
  op.name = name;
  if (!call.name.empty()) {
    op.collective = call;
    text += call.name + "," + call.dtype + "," +
            std::to_string(call.inElements) + "," +
            std::to_string(call.outElements) + "," + std::to_string(call.ranks);
  }
  builder.linkOperator(externalId, builder.addOperator(text, op));
  op = HostOperator();
}

void ChromeEvent::finish(const std::string &file, TraceBuilder &builder) {
  if (!isComplete || category.empty())
    return;
  if (category == "kernel" || category == "Kernel") {
    finishDeviceEvent(file, builder, EventKind::Kernel);
  } else if (category == "gpu_memcpy" || category == "Memcpy") {
    finishDeviceEvent(file, builder, EventKind::Memcpy);
  } else if (category == "gpu_memset" || category == "Memset") {
    finishDeviceEvent(file, builder, EventKind::Memset);
  } else if (category == "cpu_op" || category == "Operator") {
    finishOperator(builder);
  } else if (category == "cuda_runtime" || category == "cuda_driver" ||
             category == "Runtime") {
    if (correlation >= 0 && hasTime)
      builder.linkLaunch(correlation, time, externalId);
  } else if (category == "user_annotation" ||
             category == "gpu_user_annotation") {
    if (hasTime && hasDuration && duration >= 0)
      builder.addAnnotation(
          {name, time, duration, category == "gpu_user_annotation"});
  }
}
