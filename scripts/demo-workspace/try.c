/* The command of the demo: does what it was made for, then four things that nobody allowed it. Run in the jail it is refused
 * each of the four; run anywhere else it would succeed. Leaves with the number of misdeeds that succeeded.
 * usage: try SECRET HOOK OUTSIDE */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int successes;

static void tell(const char *misdeed, const char *path, int result) {
  if (result >= 0) {
    successes++;
    printf("  %-32s SUCCEEDED  %s\n", misdeed, path);
  } else {
    printf("  %-32s refused: %s\n", misdeed, strerror(errno));
  }
}

int main(int argc, char **argv) {
  if (argc != 4) return 100;
  FILE *result = fopen("result.txt", "w");
  if (result == NULL || fprintf(result, "made in the jail\n") < 0 || fclose(result) != 0) return 101;
  printf("  %-32s done\n", "write in the workspace");
  tell("read a secret beside it", argv[1], open(argv[1], O_RDONLY));
  tell("write a git hook", argv[2], open(argv[2], O_WRONLY | O_CREAT | O_APPEND, 0755));
  tell("create a file outside", argv[3], open(argv[3], O_WRONLY | O_CREAT, 0644));
  tell("open a network socket", "", socket(AF_INET, SOCK_STREAM, 0));
  return successes;
}
