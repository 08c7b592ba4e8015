// SHA-256 (FIPS 180-4), of what is short: whole texts at once.
#ifndef LAYLINE_RUNTIME_KV_SHA256_H
#define LAYLINE_RUNTIME_KV_SHA256_H

#include <string>
#include <string_view>

namespace layline::kv {

/// 64 hexadecimal digits.
std::string getSha256(std::string_view text);

} // namespace layline::kv

#endif // LAYLINE_RUNTIME_KV_SHA256_H
