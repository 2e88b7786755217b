#include "test/fuzz/artifact/Mutation.h"

#include "runtime/artifact/Fingerprint.h"

#include <nlohmann/json.hpp>
#include <vector>

namespace evt::fuzz {
namespace {

using nlohmann::json;

// [0, bound); the standard's distributions differ between libraries, this does not.
size_t below(Random &random, size_t bound) { return bound == 0 ? 0 : static_cast<size_t>(random() % bound); }

void collect(json &value, std::vector<json *> &places) {
  places.push_back(&value);
  if (value.is_structured())
    for (json &child : value)
      collect(child, places);
}

json odd(Random &random) {
  switch (below(random, 16)) {
  case 0:
    return nullptr;
  case 1:
    return true;
  case 2:
    return -1;
  case 3:
    return 0;
  case 4:
    return INT64_MAX;
  case 5:
    return INT64_MIN;
  case 6:
    return UINT64_MAX;
  case 7:
    return 1.5;
  case 8:
    return "";
  case 9:
    return "n";
  case 10:
    return std::string(5000, 'x');
  case 11:
    return json::array();
  case 12:
    return json::object();
  case 13:
    return json::array({"*", "n", int64_t(1) << 40});
  case 14: {
    json deep = 1;
    for (int i = 0; i < 300; ++i)
      deep = json::array({"+", 1, std::move(deep)});
    return deep;
  }
  default:
    return static_cast<int64_t>(random() >> below(random, 64));
  }
}

void mutate(json &document, Random &random) {
  std::vector<json *> places;
  collect(document, places);
  json &place = *places[below(random, places.size())];
  switch (below(random, 5)) {
  case 0: // remove a child
    if (place.is_array() && !place.empty())
      place.erase(below(random, place.size()));
    else if (place.is_object() && !place.empty())
      place.erase(std::next(place.begin(), static_cast<ptrdiff_t>(below(random, place.size()))));
    else
      place = nullptr;
    break;
  case 1: // repeat a child
    if (place.is_array() && !place.empty()) {
      json copy = place[below(random, place.size())];
      place.push_back(std::move(copy));
      break;
    }
    [[fallthrough]];
  case 2:
    place = odd(random);
    break;
  case 3: { // put one value in another's place
    json copy = *places[below(random, places.size())];
    place = std::move(copy);
    break;
  }
  default: // rename a key
    if (place.is_object() && !place.empty()) {
      auto child = std::next(place.begin(), static_cast<ptrdiff_t>(below(random, place.size())));
      std::string name = child.key() + "_";
      json copy = child.value();
      place.erase(child);
      place[name] = std::move(copy);
    } else if (place.is_number_integer()) {
      place = static_cast<int64_t>(place.get<int64_t>() + (random() & 1 ? 1 : -1));
    }
  }
}

} // namespace

std::string damageBytes(const std::string &bytes, Random &random) {
  std::string text = bytes;
  for (size_t left = 1 + below(random, 4); left > 0 && !text.empty(); --left) {
    size_t at = below(random, text.size());
    size_t length = 1 + below(random, std::min<size_t>(text.size() - at, 64));
    switch (below(random, 6)) {
    case 0:
    case 1:
      text[at] = static_cast<char>(text[at] ^ (1 << below(random, 8)));
      break;
    case 2:
      text[at] = static_cast<char>(random());
      break;
    case 3:
      text.erase(at, length);
      break;
    case 4:
      text.insert(at, text.substr(below(random, text.size()), length));
      break;
    default:
      text.resize(at);
    }
  }
  return text;
}

std::string damageMeaning(const std::string &manifest, Random &random) {
  json document = json::parse(manifest);
  for (size_t left = 1 + below(random, 3); left > 0; --left)
    mutate(document, random);
  if (!document.is_object())
    return document.dump();
  document["checksum"] = std::string(16, '0');
  std::string text = document.dump();
  if (std::optional<size_t> place = runtime::findChecksum(text))
    text.replace(*place, 16, runtime::toHex(runtime::fingerprintWithoutChecksum(text, *place)));
  return text;
}

} // namespace evt::fuzz
