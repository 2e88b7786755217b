#include "tools/evt/Show.h"

#include "runtime/launch/Explain.h"
#include "runtime/observe/GraphPage.h"
#include "runtime/observe/Recorder.h"
#include "tools/evt/Arguments.h"
#include "tools/evt/Failure.h"
#include "tools/evt/Frontend.h"
#include "tools/evt/Observation.h"
#include "tools/evt/OutputFile.h"
#include "tools/evt/ProgramFile.h"
#include "tools/evt/Words.h"

#include <iostream>

namespace evt::tool {
namespace {

struct ShowOptions {
  std::string file, stage, html;
  CompileOptions compile;
  ArgumentOptions arguments;
};

/// The task graph at one shape, as the compiled kernel enumerates it.
void writePage(const ShowOptions &options) {
  OpenedArtifact opened = openArtifact(options.file, options.compile);
  const runtime::Manifest &manifest = opened.artifact.manifest;
  Arguments arguments(manifest, options.arguments, Arguments::Missing::zeros);
  observe::Recorder recorder(1);
  runtime::Binding binding = runtime::explainGraph(opened.artifact, arguments.values(), *recorder.hooks());
  observe::TaskGraph graph = observe::taskGraph(recorder, describeProgram(manifest, binding.shapes));
  observe::GraphPageOptions page;
  page.caption = describeSymbols(manifest, binding.symbols);
  OutputFile out(options.html);
  observe::writeGraphPage(out.stream(), graph, page);
  out.finish();
  std::cout << options.html << ": " << counted(graph.tasks.size(), "task") << ", "
            << counted(graph.elements.size(), "event element") << "\n";
}

void show(const ShowOptions &options) {
  if (options.html.empty() == options.stage.empty())
    throw Failure(ExitCode::wrongInput, options.html.empty() ? "nothing to show, required --stage or --html"
                                                             : "--stage and --html are both given, required one");
  if (!options.html.empty())
    return writePage(options);
  if (!showStages().empty())
    requireOneOf("--stage", options.stage, showStages());
  std::cout << showProgram(options.file, options.compile, options.stage);
}

} // namespace

void addShow(Commands &commands) {
  auto options = std::make_shared<ShowOptions>();
  CLI::App *command = commands.add(
      "show", "show a program at a stage of the pipeline, or its task graph",
      "Prints a program as it is between two steps: parsed; events, with those the compiler derives; model, the "
      "polyhedral relations the proofs work on; cost, operations and bytes as expressions of the symbols; schedule, "
      "who runs which tasks; roles, what runs where in a block on "
      "CUDA; source, the emitted code; manifest. "
      "With "
      "--html it draws the task graph at one shape instead, every task and event element, as one page that needs "
      "nothing "
      "else; tables that are not given with --in are zero there.",
      {"evt show examples/row_sum/row_sum.mlir --stage schedule",
       "evt show examples/stencil2d/stencil2d.mlir --stage source",
       "evt show examples/row_sum/row_sum.mlir --html graph.html --size n=4"},
      [options] { show(*options); });
  command
      ->add_option("FILE", options->file,
                   "a .mlir file, or the folder of a model with its config.json; with --html also an artifact "
                   "directory")
      ->required();
  command->add_option("--stage", options->stage, "parsed, events, model, cost, schedule, roles, source or manifest")
      ->type_name("NAME");
  command->add_option("--html", options->html, "write the task graph to this page")->type_name("FILE");
  addArgumentOptions(command, options->arguments);
  addCompileOptions(command, options->compile);
  addStepOptions(command, options->compile);
}

} // namespace evt::tool
