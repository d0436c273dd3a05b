/* The program that every supervisor under test keeps alive: it says on a datagram socket when its main() began. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (argc < 3) return 2;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    strncpy(to.sun_path, argv[1], sizeof to.sun_path - 1);
    socklen_t length = offsetof(struct sockaddr_un, sun_path) + strlen(to.sun_path);
    /* An abstract name, which reaches out of a container that shares the host's network. */
    if (to.sun_path[0] == '@') to.sun_path[0] = 0;
    char line[160];
    int64_t ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    int size = snprintf(line, sizeof line, "%s %d %lld", argv[2], (int)getpid(), (long long)ns);
    sendto(fd, line, (size_t)size, 0, (struct sockaddr *)&to, length);
    close(fd);
    for (;;) pause();
}
