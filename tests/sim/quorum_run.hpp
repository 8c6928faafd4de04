// SPDX-License-Identifier: MIT
// One random life of several processes with a quorum of servers: what they do and what befalls them follows from a
// seed. It is asked
//   at every grant    whether anybody else believes that the key is his; whether the token is larger than all before
//   all the time      whether a lease that somebody believes in is on enough servers; whether what was lost stays lost
//   at the end        whether everything ends and everybody gets the lock, once the faults are over; what stays behind;
//                     whether values were changed and read as if each had been at one moment
// What the protocol does not promise is counted, and no failure: two holders outside of the model (quorum_swarm.hpp),
// and tokens once so many servers have forgotten theirs that only clocks were left.
#pragma once

#include <deque>
#include <map>

#include "intervals/intervals.hpp"
#include "intervals/registers.hpp"
#include "quorum/stage.hpp"
#include "quorum_swarm.hpp"
#include "quorum_watch.hpp"
#include "seeds.hpp"

namespace unit {

class QuorumRun {
 public:
  QuorumRun(uint64_t seed, liblock_test::Counters &counters, bool is_verbose);
  ~QuorumRun();
  // What is wrong; empty: nothing.
  std::string run(int64_t ms);
  std::string story() const { return swarm_.to_text(); }
  uint64_t trace() const { return world_.trace.value(); }

 private:
  struct Hold {
    size_t process;
    Wanted *wanted;
    std::vector<std::string> keys;
    std::string id;
    uint64_t token;
    Nanos from, asked;     // true time
    Nanos believed_until;  // as was seen
    Nanos keeps_until = 0;
    bool is_over = false;  // it was seen to be lost
    std::string value{};   // the name of its value's register; empty: none that is judged
  };
  struct Asked {
    size_t process;
    Wanted *wanted;
    std::vector<std::string> keys;
    Nanos at;
    std::string value{};  // as of a hold
  };
  struct Call {
    size_t process;
    std::shared_ptr<Answered> answered;
    std::string name;
    std::string gives_back;  // the id of a lock; empty: none
  };
  // What a lock carries. Each text is written once in a life.
  struct Value {
    std::string key, id;  // id: of the grant, once it is known
    std::string newest, before;
    size_t first;  // among the operations
    int64_t texts = 1;
  };
  // A lock that somebody else takes away, perhaps: from then on its holder may believe in what is not his any more.
  struct Taking {
    Nanos since;
    int open = 0;
    bool may_have_happened = false;
  };
  struct Open {
    size_t process;
    Question *question;
    std::string name;
  };

  int64_t roll(int64_t sides) { return world_.random.up_to(sides - 1); }
  bool one_in(int64_t sides) { return roll(sides) == 0; }
  void say(const char *format, ...) __attribute__((format(printf, 2, 3)));
  void wrong(const std::string &what);

  void add_process();
  void set_network(Host &host);
  void set_link(Host &host, const Node &node);
  std::vector<size_t> free_processes() const;
  void step();
  void act();
  void acquire();
  Wanted &want(size_t process, const std::vector<std::string> &keys, const AcquireParams &params,
               const std::string &value);
  void crowd();
  void leave(Wanted &wanted);
  void draw(AcquireParams &params);
  std::vector<std::string> draw_keys();
  void granted(const Asked &asked);
  void act_on(Hold &hold);
  void give_back(size_t index);
  void cancel_one();
  void follow(size_t process, const std::shared_ptr<Answered> &answered, const std::string &name,
              const std::string &gives_back = {});
  void ask(size_t process, const char *name, Ask::What what, const std::function<void(Ask &)> &fill,
           const std::function<void(Question &)> &then);
  void count_ends();

  bool believes(const Hold &hold) const;
  bool is_kept(size_t process, const std::string &id) const;
  Nanos asked_for(const Hold &hold, const Asked &asked);
  void check_alone(const Hold &hold);
  void check_token(const Hold &hold, const std::string &key);
  void check_reserved(const Hold &hold);
  void check_beliefs();
  void check_expiries();
  void close_span(const Hold &hold);
  bool is_reserved(Node &node, const std::string &key, const Hold &hold);

  // quorum_values.cpp
  std::string begin_value(const std::string &key);
  void value_granted(const std::string &name, const std::string &id);
  void act_on_value(const Hold &hold);
  size_t begin_write(Value &value, const std::string &name, const std::string &expected);
  void write_ended(size_t op, const std::string &name, Status status, bool is_sure);
  void update(const Hold &hold);
  void update_by_value(const std::string &name);
  void read_value(const std::string &name);
  void value_was_read(const Question &asked, Nanos from);
  void release_by_value(const std::string &name);
  bool is_taken(const Hold &hold) const;
  bool judges_values() const;
  void judge_values();

  // quorum_nodes.cpp
  std::vector<Node *> nodes_of(const liblock::quorum::Members &members) const;
  void look_at_configuration();
  bool can_vote_again() const;
  bool goes_by_another(Process &process) const;
  void open_forgotten_anew();
  void check_clusters();
  std::vector<Node *> draw_nodes();
  Node &add_spare_node();
  int32_t votes_of(const std::vector<Node *> &nodes) const;
  void begin_change(size_t by, const std::vector<Node *> &nodes, int32_t votes);
  void name_nodes(const std::vector<Node *> &nodes);
  void change_nodes();
  void finish_change();

  // quorum_faults.cpp
  void befall();
  bool befall_node(Node &node, Nanos time);
  bool forgets_unseen(Node &node);
  bool befall_host(Host &host, Nanos time);
  bool befall_link(Host &host, Node &node, Nanos time);
  void ring(Nanos time);
  void crash(Node &node, Node::Data data, Nanos time);
  bool may_lie(const Node &node);
  void fault(const char *name);
  bool is_in_flight() const;
  void heal();

  // quorum_finish.cpp
  void finish();
  void give_all_back();
  void everybody_gets_it();
  void the_next_gets_it();
  void nothing_stays_unheard_of();
  void check_rest();
  void add_counts();
  void judge_spans();

  liblock_test::Counters &counters_;
  const bool is_verbose_;
  World world_;
  const QuorumSwarm swarm_;
  bool is_over_ = false;
  std::vector<Node *> nodes_;
  QuorumWatch watch_;
  liblock::QuorumOptions options_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::deque<Asked> asked_;
  std::vector<Hold> holds_;
  std::vector<Call> calls_;
  std::vector<Open> questions_;  // that have not ended
  std::map<std::string, Value> values_;
  std::map<std::string, std::string> value_of_id_;
  std::vector<liblock_test::RegisterOp> operations_;
  std::map<std::string, Taking> takings_;    // by id
  std::map<std::string, Nanos> ids_asked_;   // of those that were held at some time: since when
  liblock::quorum::Configuration standing_;  // the newest that a quorum was told; of epoch 0: not asked for
  std::vector<Node *> voters_;               // of it, by whom leases count
  bool was_forgotten_ = false;               // another cluster stood before it
  size_t votes_;
  std::vector<Node *> goal_;  // of the change that is not finished; empty: none
  size_t operator_ = 0;       // 0: none yet
  size_t changes_open_ = 0;
  Nanos next_change_ = 0;
  std::map<std::string, uint64_t> largest_;
  std::map<const Node *, Nanos> lied_at_;
  std::vector<liblock_test::Span> spans_, spans_by_clock_;
  liblock_test::GuardedResource resource_;
  size_t open_ = 0;  // requests that have not ended
  std::string wrong_;
  std::string cause_;  // what befell last, for the log
};

}  // namespace unit
