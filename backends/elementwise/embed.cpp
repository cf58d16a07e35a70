// Build tool: prints the files named on the command line, one after the other, as a C++ source that holds their text.
#include <cstdio>

int main(int argc, char** argv) {
  std::printf("extern const char elementwise_text[];\nextern const unsigned long elementwise_text_size;\n");
  std::printf("const char elementwise_text[] = {\n");
  unsigned long size = 0;
  for (int i = 1; i < argc; ++i) {
    std::FILE* file = std::fopen(argv[i], "rb");
    if (!file) {
      std::fprintf(stderr, "embed: cannot read %s\n", argv[i]);
      return 1;
    }
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) std::printf("%d,%s", c, ++size % 24 ? "" : "\n");
    std::fclose(file);
  }
  std::printf("0};\nconst unsigned long elementwise_text_size = %lu;\n", size);
  return 0;
}
