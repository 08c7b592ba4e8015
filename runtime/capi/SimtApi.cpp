// The device "simt".
#include "layline/simt.h"

#include "capi/Guard.h"
#include "devices/simt/plan/SimtDevice.h"

#include <cstring>

using namespace layline::runtime;

extern "C" {

layline_status layline_simt_enable(const char *options, char **error) {
  std::string text;
  layline_status status = guarded(text, [&] {
    enableSimtDevice(parseSimtOptions(options ? options : ""));
  });
  if (error)
    *error = status == LAYLINE_OK ? nullptr : strdup(text.c_str());
  return status;
}

} // extern "C"
