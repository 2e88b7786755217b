// JSON from files that others wrote: what a parser forgives and a reader should not is refused.
#ifndef EVT_MODELS_CONFIG_JSON_H
#define EVT_MODELS_CONFIG_JSON_H

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace evt::models {

/// The object that `text` holds. Throws Problems, naming `where`, if it is not JSON, is not an object, or has a key
/// twice (of which a parser would silently take the last).
nlohmann::json parseObject(std::string_view text, const std::string &where);

/// The content of a file. Throws Problems naming it.
std::string readText(const std::string &path);

} // namespace evt::models

#endif
