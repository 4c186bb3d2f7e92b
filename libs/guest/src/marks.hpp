#pragma once

namespace sandbox::guest {

/// Neither mark is zero, so a run of zero bytes can neither begin a frame nor complete one.
inline constexpr char kBeginMark = static_cast<char>(0xA7);

}  // namespace sandbox::guest
