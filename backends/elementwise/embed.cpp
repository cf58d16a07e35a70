// Build tool: embed NAME FILE... prints a C++ source that holds the text of the files, one after the other, as
// NAME_text.
#include <cstdio>

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const char* name = argv[1];
  std::printf("extern const char %s_text[];\nextern const unsigned long %s_text_size;\n", name, name);
  std::printf("const char %s_text[] = {\n", name);
  unsigned long size = 0;
  for (int i = 2; i < argc; ++i) {
    std::FILE* file = std::fopen(argv[i], "rb");
    if (!file) {
      std::fprintf(stderr, "embed: cannot read %s\n", argv[i]);
      return 1;
    }
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file))
      std::printf("%d,%s", c < 128 ? c : c - 256, ++size % 24 ? "" : "\n");
    std::fclose(file);
  }
  std::printf("0};\nconst unsigned long %s_text_size = %lu;\n", name, size);
  return 0;
}
