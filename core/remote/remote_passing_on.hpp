// SPDX-License-Identifier: MIT
// The front (front.hpp) of an instance, as far as it is the same on one server and on several: brings requests into
// it, and carries out what it says. Whose lock it is now the servers are told behind the hand-over, which does not wait
// for that: at once where nothing was told for a while, and where an owner has a name, so that no search for deadlocks
// sees an edge that is no more; else after a moment, for all hands in between. How servers are told, and what may stand
// here at all, is the engine's own: the virtual functions. Loop thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "remote/front_request.hpp"

namespace liblock {

class RemotePassingOn : public FrontLine::Teller {
 public:
  // Before its first attempt. True: it stands in line.
  bool stands(FrontRequest &request);
  // It ends.
  void let_go(FrontRequest &request);
  // The servers have granted it.
  void granted(FrontRequest &request, Lease &lease, bool others_wait);
  // The first part of a release. True: the lock has gone on, and the servers need not hear of it.
  bool pass_on(const LeaseRef &lease);
  // Else the lease is not of the line any more, nullptr: it never was; and when the release is on its way, the next may
  // ask behind it.
  FrontLine *begin_release(Lease &lease);
  void end_release(FrontLine *line);
  // Lost, or no longer ours.
  void gone(Lease &lease);
  // Somebody else's request waits at the servers for a key that we hold, or are being granted: the word may be here
  // before the grant.
  void others_wait(Bytes lock_key);
  // What had come before this request's attempt was sent, or before the word that it has the key, says nothing of the
  // time behind its grant: it may be of an attempt of this process.
  static void forget_early_word(const FrontRequest &request);
  // Messages were missed.
  void others_may_wait();
  // Word of that has come: until the servers say otherwise the lock does not go on.
  void may_be_taken_away(Bytes lock_key);
  // Why the last attempt of its line could not be made, or OK.
  static void note_trouble(const FrontRequest &request, Status status);
  static void borrow_trouble(FrontRequest &request);
  // Whoever asks the servers who holds a key is to hear the truth.
  void tell_now(Bytes lock_key);
  void tell(FrontLine &line) override;
  void stop_telling(FrontLine &line) override;
  // What was said last may not have been heard.
  void tell_all();

  // An administrator's word, about those for whom `fits` says so.
  void send_away(Bytes lock_key, const std::function<bool(const FrontRequest &)> &fits);
  // In the order in which they will be served.
  std::vector<WaiterInfo> shown(Bytes lock_key) const;
  // Keys that begin so for which somebody stands here and, as far as is known, nobody waits at the servers.
  void add_lines_alone(Bytes key_prefix, std::vector<std::string> &lock_keys) const;
  static bool is_crowded(const FrontRequest &request);
  size_t count_standing(Bytes lock_key) const;
  void stop();

 protected:
  // What servers answered to the word who holds.
  struct Told {
    enum class Holds : uint8_t { Yes, No, Unknown } holds = Holds::Unknown;
    bool others_wait = false;
    uint64_t token_first = 0, tokens = 0;  // reserved; 0: none
  };

  RemotePassingOn(RemoteInstance &instance, const Front::Options &options);
  ~RemotePassingOn();

  // Whether servers can be told anything, and whether what they say of outsiders comes here.
  virtual bool can_tell() const = 0;
  virtual bool hears() const = 0;
  virtual bool may_stand(FrontRequest &request) const = 0;
  // Whose lock it is as of now; and so many tokens are to be reserved. told() follows.
  virtual void send_word(FrontLine &line, uint64_t tokens) = 0;
  void told(Bytes lock_key, Bytes id, const Told &what);
  // From the line to the servers; a lease that another one had.
  virtual void send(FrontRequest &request) = 0;
  virtual void hand(FrontRequest &request, const LeaseRef &lease) = 0;
  virtual void lose(const LeaseRef &lease) = 0;
  // Keeps what it is part of.
  virtual std::shared_ptr<RemotePassingOn> kept() = 0;

  static FrontRequest &request_of(FrontWaiter &waiter) { return static_cast<FrontRequest &>(waiter); }
  void count_changed(FrontLine &line);

  RemoteInstance &remote_;
  Front front_;

 private:
  bool try_to_pass_on(FrontLine &line, const LeaseRef &lease);
  void ask_next(FrontLine &line);
  void ask_next_later(const FrontLine &line);
  void news(FrontLine &line, bool is_named);
  void tell_at(FrontLine &line, Nanos at);
  void tell_again(FrontLine &line);
  void ask_before_next(FrontLine &line);
};

}  // namespace liblock
