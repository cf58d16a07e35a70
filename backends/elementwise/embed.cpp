// Build tool: embed NAME FILE... prints a C++ source that holds the text of the files, one after the other, as
// NAME_text. Where a file has the line "// clang-format off", its text begins below: above stands a comment about it.
#include <cstdio>
#include <string>

namespace {

// False where the file cannot be read.
bool read_text(const char* path, std::string& out) {
  std::FILE* file = std::fopen(path, "rb");
  if (!file) return false;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) out += char(c);
  std::fclose(file);
  const size_t mark = out.find("\n// clang-format off\n");
  if (mark != out.npos) out.erase(0, out.find('\n', mark + 1) + 1);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const char* name = argv[1];
  std::printf("extern const char %s_text[];\nextern const unsigned long %s_text_size;\n", name, name);
  std::printf("const char %s_text[] = {\n", name);
  unsigned long size = 0;
  for (int i = 2; i < argc; ++i) {
    std::string text;
    if (!read_text(argv[i], text)) {
      std::fprintf(stderr, "embed: cannot read %s\n", argv[i]);
      return 1;
    }
    for (const char c : text) std::printf("%d,%s", c, ++size % 24 ? "" : "\n");
  }
  std::printf("0};\nconst unsigned long %s_text_size = %lu;\n", name, size);
  return 0;
}
