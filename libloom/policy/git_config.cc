#include "policy/git_config.h"

#include <algorithm>

namespace loom {

namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}
bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
}

// Reads the text from front to back.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  std::vector<GitSetting> settings() {
    std::vector<GitSetting> out;
    std::string section;
    while (!rest_.empty()) {
      skip_blanks();
      if (take('[')) {
        section = name();
        skip_header();
      } else if (!rest_.empty() && is_name(rest_.front())) {
        GitSetting setting{section, name(), ""};
        skip_blanks();
        if (take('=')) setting.value = value();
        out.push_back(std::move(setting));
      } else {
        skip_line();
      }
    }
    return out;
  }

 private:
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void skip_blanks() {
    while (!rest_.empty() && (is_blank(rest_.front()) || rest_.front() == '\n')) rest_.remove_prefix(1);
  }
  void skip_line() { rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size())); }
  // To behind the ']' of a section header; what follows on the line may be a setting already.
  void skip_header() {
    bool quoted = false;
    while (!rest_.empty() && rest_.front() != '\n') {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '\\' && quoted && !rest_.empty()) rest_.remove_prefix(1);
      if (c == '"') quoted = !quoted;
      if (c == ']' && !quoted) return;
    }
  }
  std::string name() {
    const std::size_t length =
        static_cast<std::size_t>(std::find_if_not(rest_.begin(), rest_.end(), is_name) - rest_.begin());
    std::string text(rest_.substr(0, length));
    rest_.remove_prefix(length);
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; });
    return text;
  }
  // To the end of the line. A backslash escapes, and continues at a line's end; blanks around, and a comment, are not
  // part of it.
  std::string value() {
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
    std::string text;
    std::size_t solid = 0;  // how much of text stays when trailing blanks go
    bool quoted = false;
    while (!rest_.empty() && rest_.front() != '\n') {
      char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"') {
        quoted = !quoted;
        solid = text.size();
        continue;
      }
      if (!quoted && (c == '#' || c == ';')) {
        skip_line();
        break;
      }
      const bool escaped = c == '\\' && !rest_.empty();
      if (escaped) {
        c = rest_.front();
        rest_.remove_prefix(1);
        if (c == '\n') continue;
        c = c == 'n' ? '\n' : (c == 't' ? '\t' : (c == 'b' ? '\b' : c));
      }
      text += c;
      if (quoted || escaped || !is_blank(c)) solid = text.size();
    }
    text.resize(solid);
    return text;
  }

  std::string_view rest_;
};

}  // namespace

std::vector<GitSetting> parse_git_config(std::string_view text) {
  return Reader(text).settings();
}

}  // namespace loom
