//===- Hardware.cpp - what a card can do at most --------------------------===//
#include "Hardware.h"

using namespace layline;

// NVIDIA: data sheets of A100 80GB SXM, L40S, H20, H100 SXM, H200 SXM, HGX
// B200, HGX B300, GB200 NVL72, GB300 NVL72, RTX PRO 6000 Blackwell Server
// Edition (figures "with sparsity" halved). Intel: Arc Pro B60. Links: NVLink
// 3, 4, 5 by direction; PCIe 4 and 5 x16 (x8 for B60) elsewhere.
static constexpr Hardware kCards[] = {
    // card, table, 16 bit, 8 bit, memory, link, multiprocessors, step, in
    // switch
    {"A100", "a100_sxm", 312, 624, 2.039, 300, 108, 3.5, false},
    {"B200", "b200_sxm", 2250, 4500, 8.0, 900, 148, 5.3, true},
    {"B300", "b300_sxm", 2250, 4500, 8.0, 900, 160, 5.3, true},
    {"B60", "b60", 98, 197, 0.456, 32, 20, 3.5, false},
    {"GB200", "gb200", 2500, 5000, 8.0, 900, 148, 5.3, true},
    {"GB300", "gb300", 2500, 5000, 8.0, 900, 160, 5.3, true},
    {"H100", "h100_sxm", 989, 1979, 3.35, 450, 132, 3.5, true},
    {"H20", "", 148, 296, 4.0, 450, 78, 3.5, true},
    {"H200", "h200_sxm", 989, 1979, 4.8, 450, 132, 3.5, true},
    {"L40S", "l40s", 362, 733, 0.864, 32, 142, 3.5, false},
    {"RTX PRO 6000", "rtx_pro_6000_server", 503, 1007, 1.597, 64, 188, 3.5,
     false},
    // A few cores of a server: orders of magnitude, to plan test runs with.
    {"CPU", "", 0.1, 0.1, 0.02, 10, 8, 2, false},
};

const Hardware *layline::findHardware(const std::string &card) {
  for (const Hardware &hardware : kCards)
    if (card == hardware.card)
      return &hardware;
  return nullptr;
}
