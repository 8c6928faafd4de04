/* SPDX-License-Identifier: MIT
 * A connection of the test's own to the server that the library is given as a url: to look, and to do it harm.
 */
#ifndef SERVER_H
#define SERVER_H

#include <hiredis/hiredis.h>
#include <stdio.h>

/* NULL: no such url. The caller ends it by redisFree. */
static inline redisContext *connect_to(const char *url) {
  char host[256];
  int port;
  if (sscanf(url, "unix://%255[^?]", host) == 1) return redisConnectUnix(host);
  if (sscanf(url, "redis://%255[^:]:%d", host, &port) == 2) return redisConnect(host, port);
  return NULL;
}

#endif
