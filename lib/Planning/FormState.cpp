//===- FormState.cpp - what a choice of forms has come to -----------------===//
#include "FormState.h"

using namespace layline;

uint8_t layline::getForms(Form made) {
  switch (made) {
  case Form::Owed:
    return kOwed;
  case Form::Rows:
    return kRows;
  case Form::Whole:
    return kRows | kWhole;
  }
  return 0;
}

static int take(const std::string &text, size_t &at) {
  int number;
  std::copy_n(text.data() + at, sizeof number,
              reinterpret_cast<char *>(&number));
  at += sizeof number;
  return number;
}

std::string layline::encode(const FormState &state, size_t live,
                            const FormGraph &graph, const FormIndex &index,
                            int origin) {
  std::string text;
  for (size_t slot = 0; slot < live; ++slot)
    text.push_back(static_cast<char>(state.getForms(slot)));
  for (const OpenPiece &open : state.open) {
    append(text, graph.pieces[open.piece].anchor - origin);
    append(text, index.indexOfPiece[open.piece]);
    append(text, static_cast<int>(open.owed));
  }
  return text;
}

FormState layline::decode(const std::string &text, size_t live,
                          const FormIndex &index, int origin) {
  FormState state;
  for (size_t i = 0; i < live; ++i)
    state.addForms(i, static_cast<uint8_t>(text[i]));
  for (size_t at = live; at < text.size();) {
    int anchor = take(text, at) + origin, number = take(text, at);
    auto owed = static_cast<uint32_t>(take(text, at));
    state.open.push_back({index.anchored[anchor][number], owed});
  }
  return state;
}
