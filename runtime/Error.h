// The one way the runtime fails: an exception with a code for programs and a message for people.
//
// Messages start in lower case, end without a period, and give what was found and what is required. The C interface
// (runtime/api) turns each into an evt_code and a text; nothing else catches them.
#ifndef EVT_RUNTIME_ERROR_H
#define EVT_RUNTIME_ERROR_H

#include "evt/evt.h"

#include <stdexcept>
#include <string>

namespace evt::runtime {

class Error : public std::runtime_error {
public:
  Error(evt_code code, const std::string &message) : std::runtime_error(message), code_(code) {}
  evt_code code() const { return code_; }

private:
  evt_code code_;
};

/// An option of a launch, or an argument, that cannot be taken as it is.
[[noreturn]] inline void refuseOption(const std::string &what) { throw Error(EVT_ERROR_OPTION, what); }
[[noreturn]] inline void refuseArgument(const std::string &what) { throw Error(EVT_ERROR_ARGUMENT, what); }

} // namespace evt::runtime

#endif
