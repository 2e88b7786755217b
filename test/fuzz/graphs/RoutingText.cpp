#include "Routing.h"

#include <map>

namespace evt::fuzz {

namespace {

/// The text with every $NAME replaced.
std::string filled(std::string text, const std::map<std::string, std::string> &values) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      out += text[i];
      continue;
    }
    size_t end = i + 1;
    while (end < text.size() && isupper(static_cast<unsigned char>(text[end])))
      ++end;
    out += values.at(text.substr(i + 1, end - i - 1));
    i = end - 1;
  }
  return out;
}

const char *const planDevice = R"(
evt.device @plan(%x: memref<?xi32>, %group_of: memref<?xi32>, %tokens_of: memref<$Exi32>, %indptr: memref<$ENDSxi32>,
                 %has_tile: memref<$Ex?xi32>, %slot_of: memref<?xi32>, %token_of: memref<?xi32>) grid(%one) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %raw = evt.load %x[%c0] : memref<?xi32> -> tensor<$Nxi32>
  %mask = arith.constant dense<$MASK> : tensor<$Nxi32>
  %masked = arith.andi %raw, %mask : tensor<$Nxi32>
  %live = evt.valid %x[%c0] dim 0 size $N : memref<?xi32>
  %live32 = arith.index_cast %live : index to i32
  %end = tensor.splat %live32 : tensor<$Nxi32>
  %number = evt.iota dim 0 : tensor<$Nxi32>
  %is_live = arith.cmpi slt, %number, %end : tensor<$Nxi32>
  %nobody = arith.constant dense<-1> : tensor<$Nxi32>
  %group = arith.select %is_live, %masked, %nobody : tensor<$Nxi1>, tensor<$Nxi32>
  evt.store %group, %group_of[%c0] : tensor<$Nxi32> -> memref<?xi32>
  %like = tensor.empty() : tensor<$Nx$Exi32>
  %wide = linalg.broadcast ins(%group : tensor<$Nxi32>) outs(%like : tensor<$Nx$Exi32>) dimensions = [1]
  %column = evt.iota dim 1 : tensor<$Nx$Exi32>
  %is_chosen = arith.cmpi eq, %wide, %column : tensor<$Nx$Exi32>
  %one_hot = arith.extui %is_chosen : tensor<$Nx$Exi1> to tensor<$Nx$Exi32>
  %none = arith.constant dense<0> : tensor<$Exi32>
  %tokens = linalg.reduce { arith.addi } ins(%one_hot : tensor<$Nx$Exi32>) outs(%none : tensor<$Exi32>) dimensions = [0]
  evt.store %tokens, %tokens_of[%c0] : tensor<$Exi32> -> memref<$Exi32>
  %less = arith.constant dense<$ROWSLESS> : tensor<$Exi32>
  %by = arith.constant dense<$ROWS> : tensor<$Exi32>
  %up = arith.addi %tokens, %less : tensor<$Exi32>
  %tiles = arith.divsi %up, %by : tensor<$Exi32>
  %rows = arith.muli %tiles, %by : tensor<$Exi32>
  %ends = evt.prefix_sum %rows dim 0 : tensor<$Exi32>
  %start = arith.constant dense<0> : tensor<1xi32>
  evt.store %start, %indptr[%c0] : tensor<1xi32> -> memref<$ENDSxi32>
  evt.store %ends, %indptr[%c1] : tensor<$Exi32> -> memref<$ENDSxi32>
  %starts = arith.subi %ends, %rows : tensor<$Exi32>
  %rank = evt.prefix_sum %one_hot dim 0 exclusive : tensor<$Nx$Exi32>
  %starts_wide = linalg.broadcast ins(%starts : tensor<$Exi32>) outs(%like : tensor<$Nx$Exi32>) dimensions = [0]
  %position = arith.addi %starts_wide, %rank : tensor<$Nx$Exi32>
  %own = arith.muli %one_hot, %position : tensor<$Nx$Exi32>
  %no_slots = arith.constant dense<0> : tensor<$Nxi32>
  %slots = linalg.reduce { arith.addi } ins(%own : tensor<$Nx$Exi32>) outs(%no_slots : tensor<$Nxi32>) dimensions = [1]
  evt.store %slots, %slot_of[%c0] : tensor<$Nxi32> -> memref<?xi32>
  %cleared = arith.constant dense<-1> : tensor<$SLOTSxi32>
  evt.store %cleared, %token_of[%c0] : tensor<$SLOTSxi32> -> memref<?xi32>
  evt.store %number, %token_of[%slot_of[%c0]] : tensor<$Nxi32> -> memref<?xi32>, memref<?xi32>
  %most = memref.dim %has_tile, %c1 : memref<$Ex?xi32>
  scf.for %r = %c0 to %most step %c1 {
    %r32 = arith.index_cast %r : index to i32
    %tile = tensor.splat %r32 : tensor<$Exi32>
    %exists = arith.cmpi slt, %tile, %tiles : tensor<$Exi32>
    %bit = arith.extui %exists : tensor<$Exi1> to tensor<$Exi32>
    evt.store %bit, %has_tile[%c0, %r] sizes [$E, 1] : tensor<$Exi32> -> memref<$Ex?xi32>
  }
}
)";

const char *const otherDevices = R"(
evt.device @produce(%x: memref<?xi32>, %value: memref<?xi32>) grid(%i) {
  %first = affine.apply affine_map<(d0) -> (d0 * $G)>(%i)
  %t = evt.load %x[%first] : memref<?xi32> -> tensor<$Gxi32>
  %three = arith.constant dense<3> : tensor<$Gxi32>
  %seven = arith.constant dense<7> : tensor<$Gxi32>
  %m = arith.muli %t, %three : tensor<$Gxi32>
  %v = arith.addi %m, %seven : tensor<$Gxi32>
  evt.store %v, %value[%first] : tensor<$Gxi32> -> memref<?xi32>
}
evt.device @up(%value: memref<?xi32>, %token_of: memref<?xi32>, %indptr: memref<$ENDSxi32>, %h: memref<?x$Jxi32>)
    grid(%e, %r, %j) {
  %start = evt.read %indptr[%e] : memref<$ENDSxi32>
  %row = affine.apply affine_map<(d0, d1) -> (d0 + d1 * $ROWS)>(%start, %r)
  %t = evt.load %value[%token_of[%row]] : memref<?xi32>, memref<?xi32> -> tensor<$ROWSxi32>
  %factor = affine.apply affine_map<(d0) -> (d0 * 2 + 5)>(%j)
  %factor32 = arith.index_cast %factor : index to i32
  %e32 = arith.index_cast %e : index to i32
  %factors = tensor.splat %factor32 : tensor<$ROWSxi32>
  %groups = tensor.splat %e32 : tensor<$ROWSxi32>
  %m = arith.muli %t, %factors : tensor<$ROWSxi32>
  %v = arith.addi %m, %groups : tensor<$ROWSxi32>
  evt.store %v, %h[%row, %j] sizes [$ROWS, 1] : tensor<$ROWSxi32> -> memref<?x$Jxi32>
}
evt.device @down(%h: memref<?x$Jxi32>, %indptr: memref<$ENDSxi32>, %y: memref<?xi32>) grid(%e, %r) {
  %c0 = arith.constant 0 : index
  %start = evt.read %indptr[%e] : memref<$ENDSxi32>
  %row = affine.apply affine_map<(d0, d1) -> (d0 + d1 * $ROWS)>(%start, %r)
  %t = evt.load %h[%row, %c0] : memref<?x$Jxi32> -> tensor<$ROWSx$Jxi32>
  %column = evt.iota dim 1 : tensor<$ROWSx$Jxi32>
  %weight = arith.addi %column, %column : tensor<$ROWSx$Jxi32>
  %ones = arith.constant dense<1> : tensor<$ROWSx$Jxi32>
  %odd = arith.addi %weight, %ones : tensor<$ROWSx$Jxi32>
  %m = arith.muli %t, %odd : tensor<$ROWSx$Jxi32>
  %none = arith.constant dense<0> : tensor<$ROWSxi32>
  %v = linalg.reduce { arith.addi } ins(%m : tensor<$ROWSx$Jxi32>) outs(%none : tensor<$ROWSxi32>) dimensions = [1]
  evt.store %v, %y[%row] : tensor<$ROWSxi32> -> memref<?xi32>
}
evt.device @combine(%y: memref<?xi32>, %slot_of: memref<?xi32>, %out: memref<?xi32>) grid(%t) {
  %v = evt.load %y[%slot_of[%t]] : memref<?xi32>, memref<?xi32> -> tensor<1xi32>
  %eleven = arith.constant dense<11> : tensor<1xi32>
  %m = arith.muli %v, %eleven : tensor<1xi32>
  %t32 = arith.index_cast %t : index to i32
  %token = tensor.splat %t32 : tensor<1xi32>
  %s = arith.addi %m, %token : tensor<1xi32>
  evt.store %s, %out[%t] : tensor<1xi32> -> memref<?xi32>
}
)";

const char *const graphText = R"(
evt.graph @$NAME(%x: memref<?xi32> {evt.immutable}, %out: memref<?xi32>) {
  %n = evt.symbol "n" (%x[0], %out[0]) range(0, $N) : memref<?xi32>, memref<?xi32>
  %c1 = arith.constant 1 : index
  %ce = arith.constant $E : index
  %cj = arith.constant $J : index
  %tasks = affine.apply affine_map<()[s0] -> (s0 ceildiv $G)>()[%n]
  %most = affine.apply affine_map<()[s0] -> (s0 ceildiv $ROWS)>()[%n]
  %tiles = affine.apply affine_map<()[s0] -> ((s0 + $WASTE) floordiv $ROWS)>()[%n]
  %places = affine.apply affine_map<()[s0] -> (((s0 + $WASTE) floordiv $ROWS) * $ROWS)>()[%n]
  %group_of = evt.alloc(%n) : memref<?xi32>
  %tokens_of = evt.alloc() : memref<$Exi32>
  %indptr = evt.alloc() : memref<$ENDSxi32>
  %has_tile = evt.alloc(%most) : memref<$Ex?xi32>
  %slot_of = evt.alloc(%n) : memref<?xi32>
  %token_of = evt.alloc(%places) : memref<?xi32>
  %value = evt.alloc(%n) : memref<?xi32>
  %h = evt.alloc(%places) : memref<?x$Jxi32>
  %y = evt.alloc(%places) : memref<?xi32>
  %planned = evt.event() count(1) : !evt.event<>
  %arrived = evt.event(%ce) count(%tokens_of after %planned) : !evt.event<?>, memref<$Exi32>
  %activated = evt.event(%ce, %most) count(%has_tile * $UPCOUNT after %planned) : !evt.event<?x?>, memref<$Ex?xi32>
  %done = evt.event(%n) count($DONECOUNT) : !evt.event<?>
  evt.call @plan(%x, %group_of, %tokens_of, %indptr, %has_tile, %slot_of, %token_of) grid(%one to %c1)
    : (memref<?xi32>, memref<?xi32>, memref<$Exi32>, memref<$ENDSxi32>, memref<$Ex?xi32>, memref<?xi32>, memref<?xi32>) {
    $PLANNOTIFY
  }
  evt.call @produce(%x, %value) grid(%i to %tasks) : (memref<?xi32>, memref<?xi32>) {
    $PRODUCEWAIT
    %first = affine.apply affine_map<(d0) -> (d0 * $G)>(%i)
    %end = affine.min affine_map<(d0)[s0] -> (d0 * $G + $G - $PRODUCESKIP, s0 - $PRODUCESKIP)>(%i)[%n]
    scf.for %c = %first to %end step %c1 {
      %e = evt.read %group_of[%c] : memref<?xi32>
      %at = affine.apply affine_map<(d0) -> (d0 + $PRODUCESHIFT)>(%e)
      evt.notify %arrived[%at]
    }
  }
  evt.call @up(%value, %token_of, %indptr, %h)
    grid((%e, %r) in ragged(%indptr by $ROWS bound %tiles after %planned : memref<$ENDSxi32>), %j to %cj)
    : (memref<?xi32>, memref<?xi32>, memref<$ENDSxi32>, memref<?x$Jxi32>) {
    $UPWAIT
    $UPNOTIFY
  }
  evt.call @down(%h, %indptr, %y) grid((%e, %r) in ragged(%indptr by $ROWS bound %tiles after %planned : memref<$ENDSxi32>))
    : (memref<?x$Jxi32>, memref<$ENDSxi32>, memref<?xi32>) {
    $DOWNWAIT
    %start = evt.read %indptr[%e] : memref<$ENDSxi32>
    %count = evt.read %tokens_of[%e] : memref<$Exi32>
    %first = affine.apply affine_map<(d0, d1) -> (d0 + d1 * $ROWS)>(%start, %r)
    %end = affine.min affine_map<(d0, d1, d2) -> (d0 + d1 * $ROWS + $ROWS, d0 + d2)>(%start, %r, %count)
    %last = affine.apply affine_map<(d0) -> (d0 - $DOWNSKIP)>(%end)
    scf.for %s = %first to %last step %c1 {
      %t = evt.read %token_of[$DOWNSLOT] : memref<?xi32>
      evt.notify %done[%t]
    }
  }
  evt.call @combine(%y, %slot_of, %out) grid(%t to %n) : (memref<?xi32>, memref<?xi32>, memref<?xi32>) {
    evt.wait %planned[]
    $COMBINEWAIT
  }
}
)";

} // namespace

std::string RoutingSubject::text(const std::string &graph) const {
  using M = RoutingMistake;
  auto unless = [&](M wrong, const char *line) { return std::string(mistake == wrong ? "" : line); };
  auto number = [](int64_t v) { return std::to_string(v); };
  return filled(std::string(planDevice) + otherDevices + graphText,
                {{"NAME", graph},
                 {"N", number(mostTokens)},
                 {"E", number(groups)},
                 {"ENDS", number(groups + 1)},
                 {"MASK", number(groups - 1)},
                 {"ROWS", number(rows)},
                 {"ROWSLESS", number(rows - 1)},
                 {"WASTE", number(groups * (rows - 1))},
                 {"SLOTS", number(mostTokens + groups * (rows - 1))},
                 {"G", number(tokensPerTask)},
                 {"J", number(columns)},
                 {"UPCOUNT", number(columns + (mistake == M::UpCountLarger))},
                 {"DONECOUNT", number(1 + (mistake == M::DoneCountLarger))},
                 {"PLANNOTIFY", unless(M::PlanDoesNotNotify, "evt.notify %planned[]")},
                 {"PRODUCEWAIT", unless(M::ProduceDoesNotWait, "evt.wait %planned[]")},
                 {"PRODUCESKIP", number(mistake == M::ProduceSkipsLast)},
                 {"PRODUCESHIFT", number(mistake == M::ProduceNotifiesNextGroup)},
                 {"UPWAIT", unless(M::UpDoesNotWait, "evt.wait %arrived[%e]")},
                 {"UPNOTIFY", unless(M::UpDoesNotNotify, "evt.notify %activated[%e, %r]")},
                 {"DOWNWAIT", unless(M::DownDoesNotWait, "evt.wait %activated[%e, %r]")},
                 {"DOWNSKIP", number(mistake == M::DownSkipsLast)},
                 {"DOWNSLOT", mistake == M::DownNotifiesFirstToken ? "%first" : "%s"},
                 {"COMBINEWAIT", mistake == M::CombineDoesNotWait ? ""
                                 : mistake == M::CombineWaitsForNext
                                     ? "%next = affine.apply affine_map<(d0) -> (d0 + 1)>(%t)\n"
                                       "    %after = affine.apply affine_map<(d0) -> (d0 + 2)>(%t)\n"
                                       "    evt.wait %done[%next to %after]"
                                     : "evt.wait %done[%t]"}});
}

} // namespace evt::fuzz
