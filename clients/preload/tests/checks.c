// Checks of sockets: each prints a line. The lines are the same on the kernel and on the router.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *here = "127.0.0.1";
static int listener;
static struct sockaddr_in at;

static void say(const char *name, long result) {
  const char *error = result < 0 ? strerrorname_np(errno) : "";
  printf("%s: %ld %s\n", name, result, error ? error : "?");
  fflush(stdout);
}

static void nap(void) { usleep(30000); }

static struct sockaddr_in any_port(void) {
  struct sockaddr_in end = {.sin_family = AF_INET};
  inet_pton(AF_INET, here, &end.sin_addr);
  return end;
}

static int serve(struct sockaddr_in *end) {
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  socklen_t len = sizeof *end;
  *end = any_port();
  if (bind(fd, (void *)end, len) || listen(fd, 64) || getsockname(fd, (void *)end, &len)) {
    perror("serve");
    exit(1);
  }
  return fd;
}

static int dial(void) {
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(fd, (void *)&at, sizeof at)) perror("dial");
  return fd;
}

static void pair(int *client, int *server) {
  *client = dial();
  *server = accept(listener, 0, 0);
}

static void nonblocking(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

static int ready(int fd, int events, int wait) {
  struct pollfd set = {fd, events, 0};
  poll(&set, 1, wait);
  return set.revents;
}

static int option(int fd, int level, int name) {
  int value = -1;
  socklen_t len = sizeof value;
  return getsockopt(fd, level, name, &value, &len) ? -errno : value;
}

static void opening(void) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  say("flags", (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
  say("cloexec", fcntl(fd, F_GETFD));
  say("type", option(fd, SOL_SOCKET, SO_TYPE));
  say("domain", option(fd, SOL_SOCKET, SO_DOMAIN) == AF_INET);
  say("protocol", option(fd, SOL_SOCKET, SO_PROTOCOL));
  say("not listening", option(fd, SOL_SOCKET, SO_ACCEPTCONN));
  struct stat about;
  fstat(fd, &about);
  say("is a socket", S_ISSOCK(about.st_mode));
  struct sockaddr_storage end;
  socklen_t len = sizeof end;
  say("peer of none", getpeername(fd, (void *)&end, &len));
  len = sizeof end;
  say("name of none", getsockname(fd, (void *)&end, &len));
  say("family of none", end.ss_family == AF_INET && len == sizeof at);
  say("shutdown of none", shutdown(fd, SHUT_WR));
  say("accept of none", accept(fd, 0, 0));
  say("poll of none", ready(fd, POLLIN | POLLOUT, 0) == (POLLOUT | POLLHUP));
  struct sockaddr_in to = any_port();
  to.sin_family = 77;
  say("connect to nowhere", connect(fd, (void *)&to, sizeof to));
  to.sin_family = AF_INET;
  say("bind", bind(fd, (void *)&to, sizeof to));
  say("bind again", bind(fd, (void *)&to, sizeof to));
  len = sizeof to;
  getsockname(fd, (void *)&to, &len);
  say("has a port", to.sin_port != 0);
  say("listen", listen(fd, 5));
  say("listen again", listen(fd, 10));
  say("listening", option(fd, SOL_SOCKET, SO_ACCEPTCONN));
  say("accept nothing", accept(fd, 0, 0));
  say("connect a listener", connect(fd, (void *)&at, sizeof at));
  say("poll a listener", ready(fd, POLLIN, 0));
  int other = socket(AF_INET, SOCK_STREAM, 0);
  int taken = bind(other, (void *)&to, sizeof to) || listen(other, 5);
  say("address in use", taken && errno == EADDRINUSE);
  close(other);
  close(fd);
  say("closed", close(fd));
  say("of a closed one", getsockname(fd, (void *)&end, &len));
  fd = socket(AF_INET6, SOCK_STREAM, 0);
  say("domain 6", option(fd, SOL_SOCKET, SO_DOMAIN) == AF_INET6);
  say("not v6only", option(fd, IPPROTO_IPV6, IPV6_V6ONLY));
  close(fd);
  say("no raw type", socket(AF_INET, 77, 0));
  int two[2];
  say("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, two));
  say("unix name", getsockname(two[0], (void *)&end, &len) || end.ss_family != AF_UNIX);
  close(two[0]);
  close(two[1]);
}

static void options(void) {
  int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  say("nodelay before", option(fd, IPPROTO_TCP, TCP_NODELAY));
  say("nodelay", setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one));
  say("nodelay after", option(fd, IPPROTO_TCP, TCP_NODELAY));
  int idle = 33;
  say("keepidle", setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle));
  say("keepidle after", option(fd, IPPROTO_TCP, TCP_KEEPIDLE));
  say("keepalive", setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one));
  say("keepalive after", option(fd, SOL_SOCKET, SO_KEEPALIVE));
  say("reuseaddr", setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one));
  say("reuseport", setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one));
  say("reuseport after", option(fd, SOL_SOCKET, SO_REUSEPORT));
  say("tos", setsockopt(fd, IPPROTO_IP, IP_TOS, (int[]){16}, sizeof one));
  say("tos after", option(fd, IPPROTO_IP, IP_TOS));
  say("no error", option(fd, SOL_SOCKET, SO_ERROR));
  say("unknown option", setsockopt(fd, IPPROTO_TCP, 9999, &one, sizeof one));
  struct timeval time = {0, 50000};
  say("timeout", setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time));
  struct linger linger = {1, 3};
  say("linger", setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger));
  close(fd);
}

static void connecting(void) {
  struct sockaddr_in none;
  int fd = serve(&none);
  close(fd);
  nap();
  fd = socket(AF_INET, SOCK_STREAM, 0);
  say("refused", connect(fd, (void *)&none, sizeof none));
  say("then connected", connect(fd, (void *)&at, sizeof at));
  int server = accept(listener, 0, 0);
  say("is connected", connect(fd, (void *)&at, sizeof at));
  close(fd);
  close(server);
  fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  int done = connect(fd, (void *)&at, sizeof at);
  say("nonblocking", done == 0 || errno == EINPROGRESS);
  say("becomes writable", ready(fd, POLLOUT, 2000));
  say("without error", option(fd, SOL_SOCKET, SO_ERROR));
  struct sockaddr_in end;
  socklen_t len = sizeof end;
  say("peer", getpeername(fd, (void *)&end, &len));
  say("peer is right", end.sin_port == at.sin_port && end.sin_addr.s_addr == at.sin_addr.s_addr);
  len = sizeof end;
  server = accept4(listener, (void *)&end, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
  say("accepted flags", (fcntl(server, F_GETFL) & O_NONBLOCK) && fcntl(server, F_GETFD));
  struct sockaddr_in mine;
  socklen_t mine_len = sizeof mine;
  getsockname(fd, (void *)&mine, &mine_len);
  say("names agree", mine.sin_port == end.sin_port && mine.sin_addr.s_addr == end.sin_addr.s_addr);
  mine_len = 4;
  say("short room", getsockname(fd, (void *)&mine, &mine_len));
  say("says all", mine_len);
  say("read nothing", read(fd, &end, 1));
  close(fd);
  close(server);
  fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  done = connect(fd, (void *)&none, sizeof none);
  if (done && errno == EINPROGRESS) {
    ready(fd, POLLOUT, 2000);
    errno = option(fd, SOL_SOCKET, SO_ERROR);
  }
  say("refused later", done && errno == ECONNREFUSED);
  close(fd);
}

static void moving(void) {
  int c, s, n = 0;
  char buffer[256];
  pair(&c, &s);
  say("write", write(c, "hello", 5));
  ready(s, POLLIN, 2000);
  say("fionread", ioctl(s, FIONREAD, &n) ? -1 : n);
  say("peek", recv(s, buffer, sizeof buffer, MSG_PEEK));
  say("read", read(s, buffer, 2));
  say("recv rest", recv(s, buffer, sizeof buffer, MSG_DONTWAIT));
  say("recv nothing", recv(s, buffer, sizeof buffer, MSG_DONTWAIT));
  struct iovec parts[2] = {{"ab", 2}, {"cdef", 4}};
  say("writev", writev(s, parts, 2));
  ready(c, POLLIN, 2000);
  char two[2], rest[10];
  struct iovec into[2] = {{two, 2}, {rest, 10}};
  say("readv", readv(c, into, 2));
  say("its bytes", !memcmp(two, "ab", 2) && !memcmp(rest, "cdef", 4));
  struct msghdr head = {.msg_iov = parts, .msg_iovlen = 2};
  say("sendmsg", sendmsg(c, &head, 0));
  say("waitall", recv(s, buffer, 6, MSG_WAITALL));
  struct sockaddr_in end = at;
  say("sendto", sendto(c, "xyz", 3, 0, (void *)&end, sizeof end));
  socklen_t len = sizeof end;
  say("recvfrom", recvfrom(s, buffer, 3, MSG_WAITALL, (void *)&end, &len));
  say("zero bytes", send(c, "", 0, 0));
  say("poll both", ready(c, POLLIN | POLLOUT, 0));
  int file = open("/proc/self/exe", O_RDONLY);
  say("sendfile", sendfile(c, file, 0, 100));
  say("its start", recv(s, buffer, 100, MSG_WAITALL) == 100 && !memcmp(buffer, "\177ELF", 4));
  close(file);
  say("shut", shutdown(c, SHUT_WR));
  say("end", read(s, buffer, 1));
  say("end again", read(s, buffer, 1));
  say("poll the end", ready(s, POLLIN | POLLRDHUP, 0) == (POLLIN | POLLRDHUP));
  signal(SIGPIPE, SIG_IGN);
  say("write after shut", write(c, "x", 1));
  say("other way", write(s, "back", 4));
  say("still read", recv(c, buffer, 4, MSG_WAITALL));
  close(s);
  say("both ends", read(c, buffer, 1));
  close(c);
  pair(&c, &s);
  struct timeval time = {0, 50000};
  setsockopt(c, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  say("timed out", read(c, buffer, 1));
  close(s);
  say("closed", read(c, buffer, 1));
  close(c);
  pair(&c, &s);
  write(c, "unread", 6);
  ready(s, POLLIN, 2000);
  close(s);
  nap();
  say("reset", read(c, buffer, 1));
  say("after the reset", read(c, buffer, 1));
  close(c);
  struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = at.sin_port};
  inet_pton(AF_INET6, "::ffff:127.0.0.1", &six.sin6_addr);
  if (strcmp(here, "127.0.0.1")) memcpy(six.sin6_addr.s6_addr + 12, &at.sin_addr, 4);
  c = socket(AF_INET6, SOCK_STREAM, 0);
  say("mapped", connect(c, (void *)&six, sizeof six));
  len = sizeof six;
  say("mapped peer", getpeername(c, (void *)&six, &len) || six.sin6_family != AF_INET6);
  say("is mapped", IN6_IS_ADDR_V4MAPPED(&six.sin6_addr));
  s = accept(listener, 0, 0);
  close(c);
  close(s);
}

static void *reader(void *of) {
  char buffer[65536];
  long total = 0, n;
  while ((n = read(*(int *)of, buffer, sizeof buffer)) > 0) total += n;
  return (void *)total;
}

static void much(void) {
  int c, s;
  pair(&c, &s);
  nonblocking(c);
  static char block[1 << 16];
  long total = 0, n;
  for (int idle = 0; idle < 20;) {
    n = write(c, block, sizeof block);
    if (n > 0) total += n, idle = 0;
    else idle++, usleep(5000);
  }
  say("fills", total > 100000);
  say("is full", ready(c, POLLOUT, 0));
  pthread_t thread;
  pthread_create(&thread, 0, reader, &s);
  say("drains", ready(c, POLLOUT, 5000));
  fcntl(c, F_SETFL, 0);
  for (int i = 0; i < 100; i++) total += write(c, block, sizeof block);
  shutdown(c, SHUT_WR);
  void *got;
  pthread_join(thread, &got);
  say("all arrives", (long)got == total);
  close(c);
  close(s);
}

static int wait_for(int set, int time) {
  struct epoll_event events[8];
  int n = epoll_wait(set, events, 8, time), bits = 0;
  for (int i = 0; i < n; i++) bits |= events[i].events;
  return bits;
}

static void add(int set, int op, int fd, unsigned events) {
  struct epoll_event event = {.events = events, .data.fd = fd};
  if (epoll_ctl(set, op, fd, &event)) perror("epoll_ctl");
}

static void waiting(void) {
  int c, s, set = epoll_create1(0), pipes[2];
  char buffer[64];
  pipe(pipes);
  pair(&c, &s);
  add(set, EPOLL_CTL_ADD, s, EPOLLIN);
  add(set, EPOLL_CTL_ADD, pipes[0], EPOLLIN);
  say("level none", wait_for(set, 0));
  write(c, "a", 1);
  say("level", wait_for(set, 2000));
  say("level again", wait_for(set, 0));
  read(s, buffer, 1);
  say("level over", wait_for(set, 0));
  write(pipes[1], "p", 1);
  say("mixed", wait_for(set, 2000));
  read(pipes[0], buffer, 1);
  add(set, EPOLL_CTL_MOD, s, EPOLLIN | EPOLLET);
  write(c, "bc", 2);
  say("edge", wait_for(set, 2000));
  say("edge once", wait_for(set, 0));
  read(s, buffer, 1);
  say("edge half read", wait_for(set, 0));
  write(c, "d", 1);
  say("edge more", wait_for(set, 2000));
  read(s, buffer, 10);
  add(set, EPOLL_CTL_MOD, s, EPOLLIN | EPOLLONESHOT);
  write(c, "e", 1);
  say("oneshot", wait_for(set, 2000));
  say("oneshot once", wait_for(set, 0));
  add(set, EPOLL_CTL_MOD, s, EPOLLIN | EPOLLONESHOT);
  say("oneshot again", wait_for(set, 0));
  read(s, buffer, 10);
  add(set, EPOLL_CTL_MOD, s, EPOLLIN | EPOLLOUT);
  say("writable", wait_for(set, 0));
  add(set, EPOLL_CTL_MOD, s, EPOLLIN | EPOLLRDHUP);
  shutdown(c, SHUT_WR);
  say("rdhup", wait_for(set, 2000));
  say("exists", epoll_ctl(set, EPOLL_CTL_ADD, s, &(struct epoll_event){0}));
  say("delete", epoll_ctl(set, EPOLL_CTL_DEL, s, 0));
  say("delete again", epoll_ctl(set, EPOLL_CTL_DEL, s, 0));
  close(c);
  close(s);
  add(set, EPOLL_CTL_ADD, listener, EPOLLIN);
  say("listener idle", wait_for(set, 0));
  c = dial();
  say("listener", wait_for(set, 2000));
  s = accept(listener, 0, 0);
  say("listener over", wait_for(set, 0));
  fd_set reads;
  FD_ZERO(&reads);
  FD_SET(s, &reads);
  struct timeval none = {0, 0}, some = {2, 0};
  say("select none", select(s + 1, &reads, 0, 0, &none));
  write(c, "x", 1);
  FD_SET(s, &reads);
  say("select", select(s + 1, &reads, 0, 0, &some));
  struct timespec long_time = {2, 0};
  FD_ZERO(&reads);
  FD_SET(s, &reads);
  say("pselect", pselect(s + 1, &reads, 0, 0, &long_time, 0));
  struct pollfd polls[2] = {{s, POLLIN, 0}, {c, POLLOUT, 0}};
  say("ppoll", ppoll(polls, 2, &long_time, 0));
  say("its bits", polls[0].revents == POLLIN && polls[1].revents == POLLOUT);
  add(set, EPOLL_CTL_DEL, listener, 0);
  int outer = epoll_create1(0);
  add(set, EPOLL_CTL_ADD, s, EPOLLIN);
  add(outer, EPOLL_CTL_ADD, set, EPOLLIN);
  say("nested", wait_for(outer, 0));
  int early = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  add(outer, EPOLL_CTL_DEL, set, 0);
  add(outer, EPOLL_CTL_ADD, early, EPOLLOUT | EPOLLET);
  wait_for(outer, 0);
  connect(early, (void *)&at, sizeof at);
  say("added early", (wait_for(outer, 2000) & EPOLLOUT) != 0);
  say("early error", option(early, SOL_SOCKET, SO_ERROR));
  close(accept(listener, 0, 0));
  close(early);
  close(outer);
  close(c);
  close(s);
  close(set);
  close(pipes[0]);
  close(pipes[1]);
}

static void alarmed(int signal) { (void)signal; }

static void processes(char **arguments) {
  int c, s, status;
  char buffer[64];
  pair(&c, &s);
  pid_t child = fork();
  if (!child) {
    close(c);
    read(s, buffer, 4);
    write(s, "from child", 10);
    _exit(0);
  }
  close(s);
  write(c, "ping", 4);
  say("forked", recv(c, buffer, 10, MSG_WAITALL));
  waitpid(child, &status, 0);
  say("child's end", read(c, buffer, 1));
  close(c);
  child = fork();
  if (!child) {
    s = accept(listener, 0, 0);
    write(s, "!", 1);
    _exit(0);
  }
  c = dial();
  say("accepted by a child", read(c, buffer, 1));
  waitpid(child, &status, 0);
  close(c);
  pair(&c, &s);
  child = fork();
  if (!child) _exit(0);
  waitpid(child, &status, 0);
  write(c, "on", 2);
  say("outlives a child", recv(s, buffer, 2, MSG_WAITALL));
  child = fork();
  if (!child) {
    dup2(s, 0);
    close_range(3, ~0U, 0);
    execl("/proc/self/exe", arguments[0], "inherited", NULL);
    _exit(1);
  }
  waitpid(child, &status, 0);
  say("exec", WEXITSTATUS(status));
  memset(buffer, 0, sizeof buffer);
  say("its word", recv(c, buffer, 4, MSG_WAITALL) == 4 && !memcmp(buffer, "exec", 4));
  int copy = dup(s);
  close(s);
  write(copy, "dup", 3);
  say("dup", recv(c, buffer, 3, MSG_WAITALL));
  struct sockaddr_in end;
  socklen_t len = sizeof end;
  say("dup's name", getsockname(copy, (void *)&end, &len) || end.sin_port != at.sin_port);
  int high = fcntl(copy, F_DUPFD_CLOEXEC, 200);
  close(copy);
  say("high", write(high, "high", 4));
  say("high read", recv(c, buffer, 4, MSG_WAITALL));
  int two[2];
  socketpair(AF_UNIX, SOCK_STREAM, 0, two);
  union { char room[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } control = {{0}};
  struct iovec part = {"f", 1};
  struct msghdr head = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
                        .msg_controllen = sizeof control};
  struct cmsghdr *first = CMSG_FIRSTHDR(&head);
  first->cmsg_level = SOL_SOCKET;
  first->cmsg_type = SCM_RIGHTS;
  first->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(first), &high, sizeof high);
  say("pass", sendmsg(two[0], &head, 0));
  close(high);
  char byte;
  struct iovec into = {&byte, 1};
  head.msg_iov = &into;
  recvmsg(two[1], &head, 0);
  memcpy(&high, CMSG_DATA(CMSG_FIRSTHDR(&head)), sizeof high);
  say("passed", write(high, "pass", 4));
  say("passed name", getpeername(high, (void *)&end, &len));
  close(high);
  say("last is closed", recv(c, buffer, 4, MSG_WAITALL) == 4 && read(c, buffer, 1) == 0);
  close(c);
  close(two[0]);
  close(two[1]);
  pair(&c, &s);
  struct sigaction action = {.sa_handler = alarmed};
  sigaction(SIGALRM, &action, 0);
  struct itimerval timer = {{0, 0}, {0, 50000}};
  setitimer(ITIMER_REAL, &timer, 0);
  say("interrupted", read(s, buffer, 1));
  child = fork();
  if (!child) {
    signal(SIGPIPE, SIG_DFL);
    shutdown(c, SHUT_WR);
    write(c, "x", 1);
    _exit(0);
  }
  waitpid(child, &status, 0);
  say("sigpipe", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  child = fork();
  if (!child) {
    closefrom(3);
    int fd = open("/dev/null", O_RDONLY);
    _exit(fd == 3 && getsockname(fd, (void *)&end, &len) && errno == ENOTSOCK ? 7 : 1);
  }
  waitpid(child, &status, 0);
  say("closefrom", WEXITSTATUS(status));
  close(c);
  close(s);
}

static int inherited(void) {
  struct sockaddr_in end;
  socklen_t len = sizeof end;
  if (getpeername(0, (void *)&end, &len) || end.sin_family != AF_INET) return 2;
  if (option(0, SOL_SOCKET, SO_DOMAIN) != AF_INET) return 3;
  return write(0, "exec", 4) == 4 ? 5 : 4;
}

static void datagrams(void) {
  int a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM, 0), n;
  struct sockaddr_in end = any_port(), from;
  socklen_t len = sizeof end;
  char buffer[2000];
  say("udp type", option(a, SOL_SOCKET, SO_TYPE) == SOCK_DGRAM);
  say("udp protocol", option(a, SOL_SOCKET, SO_PROTOCOL));
  say("udp bind", bind(a, (void *)&end, sizeof end));
  getsockname(a, (void *)&end, &len);
  say("udp port", end.sin_port != 0);
  say("udp listen", listen(a, 1));
  say("udp no peer", send(b, "x", 1, 0));
  say("udp connect", connect(b, (void *)&end, sizeof end));
  say("udp send", send(b, "hello", 5, 0));
  ready(a, POLLIN, 2000);
  say("udp waiting", ioctl(a, FIONREAD, &n) ? -1 : n);
  len = sizeof from;
  say("udp peek", recvfrom(a, buffer, sizeof buffer, MSG_PEEK, (void *)&from, &len));
  say("udp truncated", recv(a, buffer, 2, MSG_TRUNC));
  say("udp nothing", recv(a, buffer, 2, MSG_DONTWAIT));
  say("udp answer", sendto(a, "back", 4, 0, (void *)&from, sizeof from));
  ready(b, POLLIN, 2000);
  say("udp read", read(b, buffer, sizeof buffer));
  say("udp write", write(b, "0123456789", 10));
  struct iovec parts[2] = {{buffer, 4}, {buffer + 4, 100}};
  struct msghdr head = {.msg_iov = parts, .msg_iovlen = 2, .msg_name = &from, .msg_namelen = len};
  say("udp recvmsg", recvmsg(a, &head, 0));
  say("udp bytes", !memcmp(buffer, "0123456789", 10));
  say("udp name", head.msg_namelen);
  say("udp empty", send(b, "", 0, 0));
  say("udp empty read", recv(a, buffer, 10, 0));
  say("udp too long", sendto(a, buffer, 70000, 0, (void *)&from, sizeof from));
  struct mmsghdr many[3];
  struct iovec each[3];
  memset(many, 0, sizeof many);
  for (int i = 0; i < 3; i++) {
    each[i] = (struct iovec){"abc", i + 1};
    many[i].msg_hdr.msg_iov = &each[i];
    many[i].msg_hdr.msg_iovlen = 1;
  }
  say("udp sendmmsg", sendmmsg(b, many, 3, 0));
  nap();
  for (int i = 0; i < 3; i++) each[i] = (struct iovec){buffer + 100 * i, 100};
  say("udp recvmmsg", recvmmsg(a, many, 3, MSG_WAITFORONE, 0));
  say("udp lengths", many[0].msg_len * 100 + many[1].msg_len * 10 + many[2].msg_len);
  close(a);
  close(b);
}

int main(int count, char **arguments) {
  if (count > 1 && !strcmp(arguments[1], "inherited")) return inherited();
  if (count > 1) here = arguments[1];
  alarm(120);
  signal(SIGPIPE, SIG_IGN);
  listener = serve(&at);
  opening();
  options();
  connecting();
  moving();
  much();
  waiting();
  processes(arguments);
  datagrams();
  puts("done");
}
