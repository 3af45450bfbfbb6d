#pragma once
// Messages, good and bad, that several tests cut to pieces and mutate.

#include <string>
#include <vector>

namespace pd::http {

inline const std::vector<std::string>& request_corpus() {
  static const std::vector<std::string> corpus{
      "GET /v1/models HTTP/1.1\r\nHost: gw\r\n\r\n",
      "\r\nGET /v1/models?x=1&y HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
      std::string("POST /v1/completions HTTP/1.1\r\nHost: gw:8080\r\nContent-Length: 5\r\n"
                  "Authorization: Bearer k\r\n\r\nhelloGET / HTTP/1.1\r\nHost: gw\r\n\r\n"),
      std::string("POST /a HTTP/1.1\r\nHost: gw\r\nTransfer-Encoding: chunked\r\nExpect: "
                  "100-continue\r\n\r\n"
                  "5\r\nhello\r\n00a;name=\"v\"\r\n0123456789\r\n0;last\r\nX-Trailer: "
                  "1\r\nB:\r\n\r\nGET /"),
      "POST /a HTTP/1.1\r\nHost: gw\r\nTransfer-Encoding: chunked\r\n\r\n3 \r\nabc\r\n0\r\n\r\n",
      "POST /a HTTP/1.1\r\nHost: gw\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcX\r\n0\r\n\r\n",
      "POST /a HTTP/1.1\r\nHost: gw\r\nTransfer-Encoding: chunked\r\n\r\n5;a\nhello\r\n0\r\n\r\n",
      std::string(
          "POST /a HTTP/1.1\r\nHost: gw\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n "
          "bad\r\n\r\n"),
      "POST /a HTTP/1.1\r\nHost: gw\r\nTransfer-Encoding: identity\r\n\r\nGET / HTTP/1.1\r\n\r\n",
      "POST /a HTTP/1.1\r\nHost: gw\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc",
      "GET / HTTP/1.1\nHost: gw\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: gw\r\n folded\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: gw\r\nX: a\rb\r\n\r\n",
      "GET / HTTP/2.0\r\nHost: gw\r\n\r\n",
      "\x16\x03\x01\x02",
  };
  return corpus;
}

inline const std::vector<std::string>& response_corpus() {
  static const std::vector<std::string> corpus{
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}extra",
      std::string("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 \r\nLink: a\r\n\r\n"
                  "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n"
                  "6\r\ndata:1\r\n6\r\ndata:2\r\n0\r\nX-Auth-User: root\r\n\r\n"),
      "HTTP/1.0 200 OK\r\nServer: x\r\n\r\nuntil the end",
      "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nextra",
      "HTTP/1.1 304 \r\nTransfer-Encoding: chunked\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
      "SSH-2.0-OpenSSH_9.2\r\n",
  };
  return corpus;
}

}  // namespace pd::http
