// What the host refuses before it launches kernels that wait for one another.
#include "kernels/LaunchSafety.h"

#include <catch2/catch.hpp>

using namespace layline::kernels;

TEST_CASE("a grid is what is resident together, less a margin") {
  std::uint32_t blocks = 0;
  std::string error;
  REQUIRE(residentBlocks({2, 132}, kResidencyMargin, blocks, error));
  CHECK(blocks == 248);
  REQUIRE(residentBlocks({1, 17}, kResidencyMargin, blocks, error));
  CHECK(blocks == 1);
  CHECK(!residentBlocks({1, 16}, kResidencyMargin, blocks, error));
  CHECK(error == "16 blocks fit on the device together (1 on each of 16 "
                 "multiprocessors); expected more than 16, which are left to "
                 "others");
  // A kernel whose registers or shared memory fit nowhere.
  CHECK(!residentBlocks({0, 132}, 0, blocks, error));
  CHECK(!residentBlocks({-1, 132}, 0, blocks, error));
  CHECK(!residentBlocks({1, 132}, -1, blocks, error));
  CHECK(!residentBlocks({std::int64_t(1) << 40, std::int64_t(1) << 40}, 0,
                        blocks, error));
  REQUIRE(residentBlocks({std::int64_t(1) << 20, 1 << 20}, 0, blocks, error));
  CHECK(blocks == 0x7fffffff); // CUDA's most in x
}

TEST_CASE("ranks that launch something else are named") {
  std::string error;
  CHECK(checkAgreement("tp", {7, 7, 7}, error));
  CHECK(checkAgreement("tp", {7}, error));
  CHECK(checkAgreement("tp", {}, error));
  CHECK(!checkAgreement("tp", {7, 7, 0x1f, 9}, error));
  CHECK(error == "rank 2 of group \"tp\" launches something else than rank 0: "
                 "digest 0x1f, expected 0x7; kernel, rows, grid, block and "
                 "workspace must be equal");
}

TEST_CASE("sizes are multiplied in 63 bits") {
  std::int64_t product = 0;
  std::string error;
  // Three mailboxes of 8 ranks for 128 Ki rows of 7168 bf16: above 2^32.
  REQUIRE(multiplySizes({3, 8, 131072, 7168, 2}, product, error));
  CHECK(product == 45097156608);
  REQUIRE(multiplySizes({}, product, error));
  CHECK(product == 1);
  REQUIRE(multiplySizes({std::int64_t(1) << 62, 2, 0}, product, error));
  CHECK(product == 0);
  CHECK(!multiplySizes({std::int64_t(1) << 62, 2}, product, error));
  CHECK(error == "4611686018427387904 * 2 does not fit 63 bits");
  CHECK(!multiplySizes({3, -1}, product, error));
  CHECK(error == "3 * -1; expected no size below 0");
}

TEST_CASE("a communicator has one collective under way") {
  CollectiveOrder order;
  CollectiveOrder::Ticket first = 0, second = 0, third = 0, other = 0;
  std::string error;
  REQUIRE(order.begin("tp", 1, "reduce_scatter", 0, first, error));
  SECTION("a stream's launches follow one another") {
    CHECK(order.begin("tp", 1, "all_gather", 0, second, error));
  }
  SECTION("another stream has to wait") {
    CHECK(!order.begin("tp", 2, "all_gather", 0, second, error));
    CHECK(error == "all_gather on stream 2 of communicator \"tp\" while "
                   "launch 1, reduce_scatter on stream 1, is under way; "
                   "expected that the stream waits for it, or a communicator "
                   "of its own");
    order.complete(first);
    CHECK(order.begin("tp", 2, "all_gather", 0, second, error));
    CHECK(!order.begin("tp", 1, "all_gather", 0, third, error));
  }
  SECTION("or to wait for its event") {
    REQUIRE(order.begin("tp", 1, "all_gather", 0, second, error));
    CHECK(!order.begin("tp", 2, "norm", first, third, error));
    CHECK(order.begin("tp", 2, "norm", second, third, error));
  }
  SECTION("other communicators are free") {
    CHECK(order.begin("pp", 2, "all_gather", 0, other, error));
    order.complete(other);
    CHECK(!order.begin("tp", 2, "all_gather", 0, second, error));
  }
  SECTION("completion is of a stream's launches in their order") {
    REQUIRE(order.begin("tp", 1, "all_gather", 0, second, error));
    order.complete(second);
    order.complete(first); // with the second already
    CHECK(order.begin("tp", 2, "all_gather", 0, third, error));
  }
}

TEST_CASE("a workspace is of one communicator on one stream") {
  WorkspaceTable<int> table;
  int made = 0;
  auto make = [&] { return ++made; };
  int &tp = table.at("tp", 0, make);
  CHECK(&table.at("tp", 0, make) == &tp);
  CHECK(&table.at("pp", 0, make) != &tp);
  CHECK(&table.at("tp", 1, make) != &tp);
  CHECK(made == 3);
}
