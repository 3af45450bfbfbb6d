#include "tests/integration/scripted_engine.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace pd::test {
namespace {

bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool receive(int fd, std::string& wire) {
  std::array<char, 65536> bytes{};
  const ssize_t got = recv(fd, bytes.data(), bytes.size(), 0);
  if (got <= 0) return false;
  wire.append(bytes.data(), static_cast<std::size_t>(got));
  return true;
}

std::string as_chunk(std::string_view bytes) {
  std::array<char, 24> size{};
  snprintf(size.data(), size.size(), "%zx\r\n", bytes.size());
  return std::string(size.data()).append(bytes).append("\r\n");
}

constexpr std::string_view kMetrics =
    "vllm:num_requests_running{engine=\"0\",model_name=\"sim\"} 0.0\n"
    "vllm:num_requests_waiting{engine=\"0\",model_name=\"sim\"} 0.0\n";

}  // namespace

ScriptedEngine::ScriptedEngine(EngineScript script)
    : script_(std::move(script)), listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  bind(listener_, reinterpret_cast<const sockaddr*>(&address), length);
  listen(listener_, 64);
  getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

ScriptedEngine::~ScriptedEngine() {
  stopping_ = true;
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  {
    const std::scoped_lock lock(mutex_);
    for (const int fd : open_) shutdown(fd, SHUT_RDWR);
  }
  for (std::thread& thread : threads_) thread.join();
  ::close(listener_);
}

std::vector<SeenRequest> ScriptedEngine::posts() const {
  const std::scoped_lock lock(mutex_);
  return posts_;
}

void ScriptedEngine::play(EngineScript script) {
  const std::scoped_lock lock(mutex_);
  script_ = std::move(script);
}

void ScriptedEngine::accept_all() {
  for (;;) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const std::scoped_lock lock(mutex_);
    open_.push_back(fd);
    threads_.emplace_back([this, fd] { serve(fd); });
  }
}

void ScriptedEngine::serve(int fd) {
  std::string wire;
  SeenRequest request;
  bool answered = false;
  while (!stopping_ && read_request(fd, wire, request)) {
    if (request.head.starts_with("GET ")) {
      if (!send_all(fd,
                    "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n"
                    "Content-Length: " +
                        std::to_string(kMetrics.size()) + "\r\n\r\n" + std::string(kMetrics))) {
        break;
      }
      continue;
    }
    EngineScript script;
    {
      const std::scoped_lock lock(mutex_);
      posts_.push_back(request);
      script = script_;
    }
    if (script.drop_second_post && std::exchange(answered, true)) break;
    if (!answer(fd, script)) break;
  }
  const std::scoped_lock lock(mutex_);
  std::erase(open_, fd);
  ::close(fd);
}

bool ScriptedEngine::read_request(int fd, std::string& wire, SeenRequest& request) const {
  std::size_t end = 0;
  while ((end = wire.find("\r\n\r\n")) == std::string::npos) {
    if (!receive(fd, wire)) return false;
  }
  request.head = wire.substr(0, end + 2);
  wire.erase(0, end + 4);
  const std::string length = request.header("content-length");
  const std::size_t size = length.empty() ? 0 : std::stoul(length);
  while (wire.size() < size) {
    if (!receive(fd, wire)) return false;
  }
  request.body = wire.substr(0, size);
  wire.erase(0, size);
  return true;
}

bool ScriptedEngine::answer(int fd, const EngineScript& script) {
  const bool chunked = script.framing == EngineScript::Framing::kChunked;
  std::string head = "HTTP/1.1 " + std::to_string(script.status) + " X\r\n";
  for (const auto& [name, value] : script.headers) head += name + ": " + value + "\r\n";
  if (chunked) head += "Transfer-Encoding: chunked\r\n";
  if (script.framing == EngineScript::Framing::kClose) head += "Connection: close\r\n";
  if (!send_all(fd, head + "\r\n")) return false;
  for (const EngineScript::Step& step : script.steps) {
    if (!send_all(fd, chunked ? as_chunk(step.send) : step.send)) return false;
    std::this_thread::sleep_for(step.pause);
  }
  switch (script.end) {
    case EngineScript::End::kClean:
      return chunked ? send_all(fd, "0\r\n\r\n") : script.framing != EngineScript::Framing::kClose;
    case EngineScript::End::kFin:
      return false;
    case EngineScript::End::kReset: {
      const linger now{1, 0};
      setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
      return false;
    }
    case EngineScript::End::kOpen:
      break;
  }
  std::string ignored;
  while (receive(fd, ignored)) continue;
  if (!stopping_) ++closed_by_peer_;
  return false;
}

EngineScript json_answer(int status, const std::string& body) {
  return {.status = status,
          .headers = {{"Content-Type", "application/json"},
                      {"Content-Length", std::to_string(body.size())}},
          .framing = EngineScript::Framing::kPlain,
          .steps = {{.send = body}}};
}

EngineScript good_prefill() {
  return json_answer(
      200,
      R"({"id":"x","object":"chat.completion","created":1,"model":"sim","choices":[{"index":0,)"
      R"("message":{"role":"assistant","content":"I"},"finish_reason":"length"}],)"
      R"("usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10},)"
      R"("kv_transfer_params":{"do_remote_prefill":true,"do_remote_decode":false,)"
      R"("remote_block_ids":[[176,175,166]],"remote_engine_id":"e-1",)"
      R"("remote_request_id":"r-1","remote_host":"10.9.8.7","remote_port":5600,)"
      R"("tp_size":1,"remote_num_tokens":9,"unknown_number":12345678901234567890}})");
}

std::string chat_event(std::string_view content, std::string_view finish) {
  std::string event =
      R"(data: {"id":"chatcmpl-t1","object":"chat.completion.chunk","created":1700000000,)"
      R"("model":"sim","choices":[{"index":0,"delta":{"content":")";
  event.append(content).append(R"("},"finish_reason":)").append(finish);
  return event.append("}]}\n\n");
}

}  // namespace pd::test
