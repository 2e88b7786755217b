#include "tools/evt/CompileOptions.h"

#include "tools/evt/Command.h"
#include "tools/evt/Failure.h"

namespace evt::tool {
namespace {

/// Takes down the options that a command gets in its lifetime.
class Declaration {
public:
  Declaration(CLI::App *command, CompileOptions &options)
      : command_(command), options_(options), before_(command->get_options().size()) {}
  ~Declaration() {
    for (size_t i = before_; i < command_->get_options().size(); ++i)
      options_.declared.push_back(command_->get_options()[i]);
  }
  Declaration(const Declaration &) = delete;
  Declaration &operator=(const Declaration &) = delete;

private:
  CLI::App *command_;
  CompileOptions &options_;
  size_t before_;
};

} // namespace

void addGraphOption(CLI::App *command, CompileOptions &options) {
  const Declaration declaration(command, options);
  command->add_option("--graph", options.graph, "which graph of the module; needed only if it has several")
      ->type_name("NAME");
}

void addStepOptions(CLI::App *command, CompileOptions &options) {
  const Declaration declaration(command, options);
  auto add = [&](const char *name, auto &value, const char *what) {
    return command->add_option(name, value, what)->transform(integerOf<int64_t>(1, 1 << 20))->capture_default_str();
  };
  add("--max-tokens", options.step.tokens, "of a model's step: the most tokens");
  add("--max-requests", options.step.requests, "of a model's step: the most requests");
  add("--max-context", options.step.context, "of a model's step: the most positions of a request")
      ->default_str(std::to_string(CompileOptions::Step::usualContext));
  add("--page-size", options.step.pageSlots, "of a model's step: positions of a page of the cache");
  command->add_flag("--all-to-all", options.step.allToAll,
                    "of a model's step: tasks wait for all of the call before, not only for those they need; slower, "
                    "and there to see by how much");
  command->add_flag(
      "--same-bits", options.step.sameBits,
      "of a model's step: a request's results have the same bits in any batch of up to 256 tokens; slower "
      "with few tokens, which take the way of many");
}

void addCompileOptions(CLI::App *command, CompileOptions &options) {
  addGraphOption(command, options);
  const Declaration declaration(command, options);
  command->add_option("--target", options.target, "what to compile for: cpu or cuda")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->type_name("TARGET")
      ->capture_default_str();
  command->add_option("--cxx", options.cxx, "the C++ compiler for the emitted source")
      ->type_name("PROGRAM")
      ->capture_default_str();
  command->add_option("--march", options.march, "the machine to compile for, as the C++ compiler names it")
      ->type_name("ARCH")
      ->capture_default_str();
  addRepeatable(command, "--cxxflag", options.cxxFlags,
                "one more flag for the C++ compiler, as in --cxxflag=-fsanitize=thread; may be repeated")
      ->type_name("FLAG");
  command->add_option("--nvcc", options.nvcc, "NVIDIA's compiler, for --target cuda")
      ->type_name("PROGRAM")
      ->capture_default_str();
  addRepeatable(command, "--arch", options.architectures,
                "a GPU architecture, for --target cuda; may be repeated, one cubin each [sm_90a]")
      ->type_name("ARCH");
  addRepeatable(command, "--nvccflag", options.nvccFlags, "one more flag for nvcc; may be repeated")->type_name("FLAG");
  addRepeatable(
      command, "--only-schedule", options.schedules,
      "a schedule that the artifact holds: static, ticket or dynamic; may be repeated [all]. On CUDA each is a kernel "
      "of its own, and takes its time to compile")
      ->check(CLI::IsMember({"static", "ticket", "dynamic"}))
      ->type_name("NAME");
  command->add_flag(
      "--roles", options.roles,
      "on the CPU, run products as a GPU does: loading, computing and ending a task are roles of a worker, "
      "each a thread, joined by rings; there to try and to check them, and slower");
  command->add_flag(
      "--no-verify", [&options](int64_t) { options.verify = false; },
      "do not prove the program: trust its events as they are");
}

void refuseCompileOptions(const std::string &artifact, const CompileOptions &options) {
  for (const CLI::Option *option : options.declared)
    if (option->count())
      throw Failure(ExitCode::wrongInput,
                    option->get_name() + " takes effect when a program is compiled, and '" + artifact +
                        "' is an artifact already: required a .mlir file, or 'evt compile' with this option");
}

} // namespace evt::tool
