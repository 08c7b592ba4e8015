// Writes text with a language model that was planned by Layline: a small
// inference engine on the C API. All sequences share one paged KV cache and
// take turns, a token each.
#include "Decoder.h"
#include "Tokenizer.h"

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <stdexcept>

namespace {

const char kUsage[] =
    R"(layline-generate PLAN.json --model DIR [--prompt TEXT]... [--new N]
                 [--show-ids] [--trace FILE] [--transport threads|mpi]

Continues each prompt greedily by up to N tokens (32).
  --model DIR   folder with model.safetensors and tokenizer.txt
  --prompt TEXT what to continue; again for several, which take turns
  --show-ids    also the token ids, a line "ids: ..." for each prompt
  --trace FILE  what ran when, for Perfetto (ui.perfetto.dev)
  --transport T the ranks are threads, or mpi: under mpirun, a process each
)";

struct Arguments {
  std::string plan, model, trace, transport = "threads";
  std::vector<std::string> prompts;
  std::int64_t count = 32;
  bool showIds = false;
};

/// Exits with 2 for a command line that it does not understand.
Arguments parse(int argc, char **argv) {
  Arguments arguments;
  auto refuse = [](const std::string &why) {
    std::cerr << why << "\n\n" << kUsage;
    std::exit(2);
  };
  for (int i = 1; i < argc; ++i) {
    std::string option = argv[i];
    auto value = [&] {
      if (i + 1 == argc)
        refuse(option + ": a value is expected");
      return std::string(argv[++i]);
    };
    if (option == "--model")
      arguments.model = value();
    else if (option == "--prompt")
      arguments.prompts.push_back(value());
    else if (option == "--trace")
      arguments.trace = value();
    else if (option == "--transport")
      arguments.transport = value();
    else if (option == "--show-ids")
      arguments.showIds = true;
    else if (option == "--new") {
      std::string number = value();
      char *end = nullptr;
      arguments.count = std::strtoll(number.c_str(), &end, 10);
      if (*end || number.empty() || arguments.count < 1)
        refuse("--new: found '" + number + "', expected a number above 0");
    } else if (option.rfind("--", 0) == 0 || !arguments.plan.empty())
      refuse("'" + option + "' is not understood");
    else
      arguments.plan = option;
  }
  if (arguments.plan.empty() || arguments.model.empty())
    refuse("a plan and --model are expected");
  if (arguments.prompts.empty())
    arguments.prompts = {"Once upon a time"};
  return arguments;
}

struct Sequence {
  std::vector<std::int64_t> ids; ///< prompt and what was generated
  std::size_t prompt = 0;        ///< tokens of it
  bool isDone = false;
};

void generateText(const Arguments &arguments) {
  generate::Tokenizer tokenizer(arguments.model + "/tokenizer.txt");
  std::vector<Sequence> sequences;
  std::int64_t longest = 0;
  for (const std::string &prompt : arguments.prompts) {
    Sequence sequence;
    sequence.ids = tokenizer.encode(prompt);
    sequence.prompt = sequence.ids.size();
    if (sequence.ids.empty())
      throw std::runtime_error("a prompt is empty");
    longest = std::max(longest, static_cast<std::int64_t>(sequence.prompt));
    sequences.push_back(sequence);
  }
  generate::Decoder decoder(arguments.plan,
                            {arguments.model + "/model.safetensors"},
                            static_cast<std::int64_t>(sequences.size()),
                            longest + arguments.count, arguments.transport);
  if (!arguments.trace.empty())
    decoder.beginTrace();

  for (std::int64_t step = 0; step < arguments.count; ++step)
    for (std::size_t s = 0; s < sequences.size(); ++s) {
      Sequence &sequence = sequences[s];
      if (sequence.isDone)
        continue;
      // First the prompt, then what came last.
      auto input = step == 0 ? sequence.ids
                             : std::vector<std::int64_t>{sequence.ids.back()};
      std::int64_t id = decoder.next(s, input);
      sequence.ids.push_back(id);
      sequence.isDone = id == tokenizer.end();
    }

  // Every process has the same text; rank 0's writes it.
  if (!decoder.isFirst())
    return;
  for (const Sequence &sequence : sequences) {
    std::string text;
    for (std::size_t i = 0; i < sequence.ids.size(); ++i)
      if (!(sequence.isDone && i + 1 == sequence.ids.size()))
        text += tokenizer.decode(sequence.ids[i]);
    std::cout << text << "\n";
    if (arguments.showIds) {
      std::cout << "ids:";
      for (std::int64_t id : sequence.ids)
        std::cout << " " << id;
      std::cout << "\n";
    }
    std::cout << "\n";
  }
  std::printf("%lld ranks; prefill (variant %s): %lld tokens, %.1f tokens/s; "
              "decode (variant %s): %lld tokens, %.1f tokens/s\n",
              static_cast<long long>(decoder.ranks()),
              decoder.variant(static_cast<std::int64_t>(longest)).c_str(),
              static_cast<long long>(decoder.prefill().tokens),
              decoder.prefill().perSecond(), decoder.variant(1).c_str(),
              static_cast<long long>(decoder.decode().tokens),
              decoder.decode().perSecond());
  if (!arguments.trace.empty())
    decoder.writeTrace(arguments.trace);
}

} // namespace

int main(int argc, char **argv) {
  Arguments arguments = parse(argc, argv);
  try {
    generateText(arguments);
  } catch (const std::exception &error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
