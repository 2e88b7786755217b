// Programs whose tables are computed by the kernel itself: a random member of one family.
//
//   plan            who goes where: the group of each token, tokens of each group, their places (indptr, padded to
//                   whole tiles), the place of each token and the token of each place
//   produce(i)      values of some tokens; tells the group of each that it arrived (coordinates read from a table)
//   up(e, r, j)     ragged: a tile of places of a group, once all its tokens arrived (a count read from memory)
//   down(e, r)      ragged: the same tile, once all its columns are there (counts 0 for tiles that do not exist)
//   combine(t)      one token, once the tile that holds it is done
//
// Groups may be empty, tiles partly so, and there may be no token at all.
#pragma once

#include "Subject.h"

namespace evt::fuzz {

/// A mistake in the program's protocol; None is the well-formed program.
enum class RoutingMistake {
  None,
  PlanDoesNotNotify,
  ProduceDoesNotWait,
  ProduceNotifiesNextGroup,
  ProduceSkipsLast,
  UpDoesNotWait,
  UpDoesNotNotify,
  UpCountLarger,
  DownDoesNotWait,
  DownSkipsLast,
  DownNotifiesFirstToken,
  CombineDoesNotWait,
  DoneCountLarger,
  CombineWaitsForNext,
  Count_
};

class RoutingSubject : public Subject {
public:
  explicit RoutingSubject(Random &random, RoutingMistake mistake = RoutingMistake::None);

  std::string text(const std::string &graph) const override;
  std::vector<std::string> symbols() const override { return {"n"}; }
  Values randomValues(Random &random, int largest) const override;
  std::vector<Argument> arguments(const Values &values, Random &random) const override;
  std::vector<Argument> expected(const Values &values, const std::vector<Argument> &arguments) const override;
  Enumeration enumerate(const Values &values, const std::vector<Argument> &arguments) const override;
  bool isAffine() const override { return false; }

  static constexpr int mostTokens = 32;

private:
  struct Plan;
  Plan plan(const Tensor &x) const;

  int groups, rows, tokensPerTask, columns;
  RoutingMistake mistake;
};

} // namespace evt::fuzz
