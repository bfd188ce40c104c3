/* One thread listens while the router does not answer; another one uses its own session. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "vppcom.h"

static int listener;

static void *
listening (void *unused)
{
  (void) unused;
  return (void *) (intptr_t) vppcom_session_listen (listener, 10);
}

int
main (int argc, char **argv)
{
  struct in_addr address = { htonl (INADDR_LOOPBACK) };
  vppcom_endpt_t end = { 0 };
  uint32_t flags = 0, size = sizeof (flags);
  char line[8];
  pthread_t thread;
  void *result;
  int other;

  if (argc != 2 || vppcom_app_create ("lock"))
    return 2;
  listener = vppcom_session_create (VPPCOM_PROTO_TCP, 0);
  other = vppcom_session_create (VPPCOM_PROTO_TCP, 0);
  end.is_ip4 = 1;
  end.ip = (uint8_t *) &address;
  end.port = htons (atoi (argv[1]));
  if (listener < 0 || other < 0 || vppcom_session_bind (listener, &end))
    return 3;
  puts ("ready");
  fflush (stdout);
  if (!fgets (line, sizeof (line), stdin) ||
      pthread_create (&thread, 0, listening, 0))
    return 4;
  usleep (200000);
  if (vppcom_session_attr (other, VPPCOM_ATTR_GET_FLAGS, &flags, &size))
    return 5;
  puts ("free");
  fflush (stdout);
  if (pthread_join (thread, &result) || result)
    return 6;
  vppcom_session_close (listener);
  return 0;
}
