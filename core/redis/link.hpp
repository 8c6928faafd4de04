// SPDX-License-Identifier: MIT
// What an instance has of its server: the connection for commands, the one that messages come on, made when
// somebody waits, and the one for requests that wait for replicas, made when there is one. Loop thread.
//
// Invariant: all that are ready lead to one server, as far as servers say who they are: to that of the one for
// commands. A name, or whatever passes connections on, may lead the others to a replica, or to where a master was:
// words that are forwarded from there would be believed of a lock that the master has given to somebody else.
#pragma once


#include "redis/connection.hpp"
#include "redis/server_clock.hpp"
#include "redis/server_error.hpp"

namespace liblock {

class Link;

// A script call whose end is told apart: an answer, or a failure of any kind.
class ServerCall : public ScriptCall {
 public:
  // Is this an answer that the script gives? Else the server is none that we know.
  virtual bool fits(const Reply &) const { return true; }
  virtual void answered(const Reply &reply) = 0;
  void replied(const Reply &reply) final;

 protected:
  ~ServerCall() override = default;

 private:
  friend class Link;
  Connection *on_ = nullptr;
};

class Link {
 public:
  class User {
   public:
    // another: not the server, or not in the role, that it was before.
    virtual void on_connected(const ServerInfo &info, bool another) = 0;
    virtual void on_disconnected(Status status, const std::string &text) = 0;
    // Messages come from now on; what was sent before was missed.
    virtual void on_listening() = 0;
    virtual void on_message(Bytes message) = 0;
    virtual bool needs_server() = 0;
    virtual bool needs_messages() = 0;

   protected:
    ~User() = default;
  };

  Link(Runtime &runtime, const Clock &clock, Random &random, const ConnectionOptions &options,
       const std::string &channel, User &user);

  void send(ServerCall &call) { send_on(commands_, call); }
  // The same on the connection whose answers may wait for replicas.
  Connection &durable() { return durable_; }
  void send_on(Connection &connection, ServerCall &call);
  void send(Command &command) { commands_.send(command); }

  void connect() { commands_.want(); }
  void listen() { messages_.want(); }
  bool is_listening() const { return messages_.ready(); }
  // The subscription by which messages come now, by its number; 0: none do.
  uint64_t hears_by() const { return is_listening() ? subscriptions_ : 0; }
  // What was asked then is answered, and words about it, which come to nobody twice, may have been missed in between.
  bool hears_anew_since(uint64_t hears_by_then) const { return is_listening() && hears_by() != hears_by_then; }
  bool is_connected() const { return commands_.ready(); }
  size_t commands_waiting() const { return commands_.waiting(); }
  bool was_ever_connected() const { return commands_.was_ever_ready() || durable_.was_ever_ready(); }
  ServerClock &server_clock() { return server_clock_; }
  // This is not the server that we want: connects anew, the later the more often it was said.
  void distrust(Status status, const std::string &why, uint32_t times = 0) {
    commands_.drop(status, why, times);
  }
  // Part of an answer was this error: where it says that, the connection ends.
  void look_at_error(Bytes error);
  void stop();

 private:
  struct Commands final : Connection::User {
    explicit Commands(Link &l) : link(l) {}
    void on_ready(const ServerInfo &info) override { link.commands_ready(info); }
    void on_down(Status status, const std::string &text) override {
      link.was_replica_ = link.was_replica_ || status == Status::READ_ONLY;
      link.user_.on_disconnected(status, text);
    }
    bool still_wanted() override { return link.user_.needs_server(); }
    Link &link;
  };
  struct Messages final : Connection::User {
    explicit Messages(Link &l) : link(l) {}
    void on_ready(const ServerInfo &info) override { link.messages_ready(info); }
    void on_down(Status, const std::string &) override {}
    bool still_wanted() override { return link.user_.needs_messages(); }
    void on_message(Bytes message) override { link.user_.on_message(message); }
    Link &link;
  };
  struct Durable final : Connection::User {
    explicit Durable(Link &l) : link(l) {}
    void on_ready(const ServerInfo &info) override { link.is_of_our_server(link.durable_, link.durable_server_, info); }
    void on_down(Status, const std::string &) override {}
    bool still_wanted() override { return false; }
    Link &link;
  };
  // Who is at the other end of a connection, or was last.
  struct Server {
    std::string run_id;
    uint32_t refusals = 0;  // since it was ours last
  };
  void commands_ready(const ServerInfo &info);
  void messages_ready(const ServerInfo &info);
  // Else it ends, and is made anew a moment later.
  bool is_of_our_server(Connection &connection, Server &server, const ServerInfo &info);
  // Than the one for commands, as far as both say who they are.
  bool is_another(const std::string &run_id) const;
  static void refuse(Connection &connection, Server &server, Status status, const std::string &why);
  // The other one may be right: a master that became a replica tells nobody so who asks it nothing.
  class RoleCheck;
  void check_role();

  const Clock &clock_;
  User &user_;
  Commands commands_user_{*this};
  Messages messages_user_{*this};
  Durable durable_user_{*this};
  Connection commands_;
  Connection messages_;
  Connection durable_;
  ServerClock server_clock_;
  Server commands_server_, messages_server_, durable_server_;
  uint64_t subscriptions_ = 0;  // so far
  bool is_checking_role_ = false;
  bool has_served_ = false;
  bool was_replica_ = false;  // since it served last
};

}  // namespace liblock
