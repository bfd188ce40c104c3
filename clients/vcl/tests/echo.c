/* Echo server and client over libvppcom: every way to wait, streams and datagrams.
 *
 *   echo server tcp|udp ADDRESS PORT [COUNT]     ends after COUNT sessions
 *   echo client tcp|udp ADDRESS PORT BYTES epoll|select|poll|block [SESSIONS]
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vppcom.h>

#define CHECK(what) do { if (!(what)) { \
      fprintf (stderr, "line %d: %s\n", __LINE__, #what); exit (1); } } while (0)
#define MOST 64

static uint8_t octets[16];

static vppcom_endpt_t
end_of (const char *address, const char *port)
{
  vppcom_endpt_t ep = { .ip = octets, .port = htons (atoi (port)) };
  ep.is_ip4 = inet_pton (AF_INET, address, octets) == 1;
  CHECK (ep.is_ip4 || inet_pton (AF_INET6, address, octets) == 1);
  return ep;
}

static uint8_t
pattern (size_t at)
{
  return at % 251;
}

/* What one session has received and not sent back. */
struct kept { unsigned char bytes[32768]; int len, is_used; };

static void
serve (int proto, vppcom_endpt_t *ep, int count)
{
  static struct kept kept[1024];
  struct epoll_event event, events[MOST];
  int listener = vppcom_session_create (proto, 1), set = vppcom_epoll_create ();
  CHECK (listener >= 0 && set >= 0);
  CHECK (vppcom_session_bind (listener, ep) == 0);
  CHECK (vppcom_session_listen (listener, 10) == 0);
  event = (struct epoll_event) { .events = EPOLLIN, .data.u32 = listener };
  CHECK (vppcom_epoll_ctl (set, EPOLL_CTL_ADD, listener, &event) == 0);
  printf ("listening\n");
  fflush (stdout);
  while (count != 0)
    {
      int n = vppcom_epoll_wait (set, events, MOST, -1);
      CHECK (n > 0);
      for (int i = 0; i < n; i++)
	{
	  uint32_t sh = events[i].data.u32;
	  uint8_t from[16];
	  vppcom_endpt_t peer = { .ip = from };
	  if (sh == (uint32_t) listener && proto == VPPCOM_PROTO_TCP)
	    {
	      int got = vppcom_session_accept (sh, &peer, O_NONBLOCK);
	      if (got == VPPCOM_EAGAIN)
		continue;
	      CHECK (got >= 0 && got < 1024 && peer.is_ip4 == ep->is_ip4);
	      memset (&kept[got], 0, sizeof kept[got]);
	      event = (struct epoll_event) { .events = EPOLLIN, .data.u32 = got };
	      CHECK (vppcom_epoll_ctl (set, EPOLL_CTL_ADD, got, &event) == 0);
	      continue;
	    }
	  if (sh == (uint32_t) listener)
	    {
	      static char datagram[65536];
	      int len = vppcom_session_recvfrom (sh, datagram, sizeof datagram, 0, &peer);
	      if (len == VPPCOM_EAGAIN)
		continue;
	      CHECK (len >= 0);
	      CHECK (vppcom_session_sendto (sh, datagram, len, 0, &peer) == len);
	      if (len == 4 && memcmp (datagram, "stop", 4) == 0)
		count--;
	      continue;
	    }
	  struct kept *k = &kept[sh];
	  int len = vppcom_session_read (sh, k->bytes + k->len, sizeof k->bytes - k->len);
	  if (len == VPPCOM_EAGAIN)
	    len = -1;
	  else if (len <= 0 && k->len < (int) sizeof k->bytes && k->len == 0)
	    {
	      CHECK (len == 0);
	      CHECK (vppcom_session_close (sh) == 0);
	      count--;
	      continue;
	    }
	  k->len += len > 0 ? len : 0;
	  int done = k->len ? vppcom_session_write (sh, k->bytes, k->len) : 0;
	  if (done > 0)
	    {
	      memmove (k->bytes, k->bytes + done, k->len - done);
	      k->len -= done;
	    }
	  /* Room to read has to come from room to write. */
	  event.events = k->len == sizeof k->bytes ? EPOLLOUT : k->len ? EPOLLIN | EPOLLOUT : EPOLLIN;
	  event.data.u32 = sh;
	  CHECK (vppcom_epoll_ctl (set, EPOLL_CTL_MOD, sh, &event) == 0);
	}
    }
  CHECK (vppcom_session_close (listener) == 0);
}

/* Waits until the session can be read, or written as well. */
static int
wait_for (const char *how, int sh, int set, int writes)
{
  if (!strcmp (how, "select"))
    {
      vcl_si_set reads[16] = { 0 }, outs[16] = { 0 };
      reads[sh / 64] |= 1ul << sh % 64;
      outs[sh / 64] |= writes ? 1ul << sh % 64 : 0;
      CHECK (vppcom_select (sh + 1, reads, outs, 0, 10.0) > 0);
      return (reads[sh / 64] >> sh % 64 & 1 ? EPOLLIN : 0)
	     | (outs[sh / 64] >> sh % 64 & 1 ? EPOLLOUT : 0);
    }
  if (!strcmp (how, "poll"))
    {
      vcl_poll_t p = { .sh = sh, .events = POLLIN | (writes ? POLLOUT : 0) };
      CHECK (vppcom_poll (&p, 1, 10.0) == 1);
      return p.revents;
    }
  struct epoll_event event = { .events = EPOLLIN | (writes ? EPOLLOUT : 0), .data.u32 = sh };
  CHECK (vppcom_epoll_ctl (set, EPOLL_CTL_MOD, sh, &event) == 0);
  CHECK (vppcom_epoll_wait (set, &event, 1, 10000.0) == 1 && event.data.u32 == (uint32_t) sh);
  return event.events;
}

static void
echo_stream (vppcom_endpt_t *ep, size_t total, const char *how)
{
  int blocks = !strcmp (how, "block");
  int sh = vppcom_session_create (VPPCOM_PROTO_TCP, !blocks), set = vppcom_epoll_create ();
  struct epoll_event event = { .events = EPOLLIN | EPOLLOUT, .data.u32 = sh };
  CHECK (sh >= 0 && set >= 0 && vppcom_epoll_ctl (set, EPOLL_CTL_ADD, sh, &event) == 0);
  int rv = vppcom_session_connect (sh, ep);
  CHECK (rv == (blocks ? 0 : VPPCOM_EINPROGRESS));
  if (!blocks)
    CHECK (wait_for (how, sh, set, 1) & EPOLLOUT);
  size_t sent = 0, got = 0;
  static unsigned char bytes[16384];
  while (got < total)
    {
      int ready = blocks ? EPOLLIN | EPOLLOUT : wait_for (how, sh, set, sent < total);
      if (ready & EPOLLERR)
	fprintf (stderr, "error %d after %zu of %zu\n", vppcom_session_get_error (sh), got, sent);
      CHECK (!(ready & EPOLLERR));
      if (sent < total && ready & EPOLLOUT && sent - got < 100000)
	{
	  size_t n = total - sent < sizeof bytes ? total - sent : sizeof bytes;
	  for (size_t i = 0; i < n; i++)
	    bytes[i] = pattern (sent + i);
	  int done = vppcom_session_write (sh, bytes, n);
	  CHECK (done > 0 || (!blocks && done == VPPCOM_EAGAIN));
	  sent += done > 0 ? done : 0;
	}
      if (ready & EPOLLIN && got < sent)
	{
	  int len = vppcom_session_read (sh, bytes, sizeof bytes);
	  CHECK (len > 0 || (!blocks && len == VPPCOM_EAGAIN));
	  for (int i = 0; i < len; i++)
	    CHECK (bytes[i] == pattern (got + i));
	  got += len > 0 ? len : 0;
	}
    }
  CHECK (vppcom_session_shutdown (sh, 1) == 0);
  CHECK (vppcom_session_write (sh, bytes, 1) == VPPCOM_EPIPE);
  /* The server closes when it has seen the end. */
  int last;
  do
    {
      if (!blocks)
	wait_for (how, sh, set, 0);
      last = vppcom_session_read (sh, bytes, sizeof bytes);
    }
  while (last == VPPCOM_EAGAIN);
  CHECK (last == 0);
  CHECK (vppcom_session_close (sh) == 0 && vppcom_session_close (set) == 0);
  CHECK (vppcom_session_read (sh, bytes, 1) == VPPCOM_EBADFD);
}

static void
echo_datagrams (vppcom_endpt_t *ep, size_t total)
{
  static unsigned char bytes[65536], back[65536];
  int sh = vppcom_session_create (VPPCOM_PROTO_UDP, 0);
  CHECK (sh >= 0 && vppcom_session_connect (sh, ep) == 0);
  for (size_t len = 1; len <= total; len = len * 3 + 1)
    {
      for (size_t i = 0; i < len; i++)
	bytes[i] = pattern (i + len);
      CHECK (vppcom_session_write (sh, bytes, len) == (int) len);
      CHECK (vppcom_session_read (sh, back, sizeof back) == (int) len);
      CHECK (memcmp (bytes, back, len) == 0);
    }
  CHECK (vppcom_session_write (sh, "stop", 4) == 4);
  CHECK (vppcom_session_read (sh, back, sizeof back) == 4);
  CHECK (vppcom_session_close (sh) == 0);
}

int
main (int argc, char **argv)
{
  CHECK (argc >= 5);
  int proto = strcmp (argv[2], "udp") ? VPPCOM_PROTO_TCP : VPPCOM_PROTO_UDP;
  vppcom_endpt_t ep = end_of (argv[3], argv[4]);
  int rv = vppcom_app_create ("echo");
  if (rv)
    {
      fprintf (stderr, "cannot attach: %s\n", vppcom_retval_str (rv));
      return 2;
    }
  if (!strcmp (argv[1], "server"))
    serve (proto, &ep, argc > 5 ? atoi (argv[5]) : -1);
  else
    for (int i = argc > 7 ? atoi (argv[7]) : 1; i > 0; i--)
      if (proto == VPPCOM_PROTO_UDP)
	echo_datagrams (&ep, atol (argv[5]));
      else
	echo_stream (&ep, atol (argv[5]), argv[6]);
  vppcom_app_destroy ();
  printf ("done\n");
  return 0;
}
