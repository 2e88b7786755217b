#include "tools/evt/Compile.h"

#include "tools/evt/CompileOptions.h"
#include "tools/evt/ProgramFile.h"

#include <iostream>

namespace evt::tool {

void addCompile(Commands &commands) {
  struct Options {
    std::string file, directory;
    CompileOptions compile;
  };
  auto options = std::make_shared<Options>();
  CLI::App *command = commands.add(
      "compile", "compile a program into an artifact",
      "Proves the program, emits its kernel and compiles that into an artifact: a directory with a manifest, the "
      "kernel, "
      "its source and the program with all its events. One artifact serves every shape and holds every schedule. An "
      "artifact of the same name is replaced as a whole, or kept if something goes wrong. Steps and times are shown on "
      "a "
      "terminal or with --log-level info.",
      {"evt compile examples/row_sum/row_sum.mlir -o row_sum.evt",
       "evt compile examples/decoder/decoder.mlir -o decoder.evt --march x86-64-v3 --log-level info",
       "evt compile bench/step/models/qwen3-8b --target cuda -o qwen3-8b.evt",
       "evt compile examples/row_sum/row_sum.mlir -o row_sum.evt --cxxflag=-fsanitize=thread"},
      [options] {
        compileWithWarnings(options->file, options->compile, options->directory);
        std::cout << options->directory << "\n";
      });
  command->add_option("FILE", options->file, "the program, a .mlir file, or the folder of a model with its config.json")
      ->required();
  command->add_option("-o,--output", options->directory, "the artifact directory to write")
      ->type_name("DIR")
      ->required();
  addCompileOptions(command, options->compile);
  addStepOptions(command, options->compile);
}

} // namespace evt::tool
