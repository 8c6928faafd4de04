// SPDX-License-Identifier: MIT
//! Five servers that are no quorum yet, whose url is in LIBLOCK_TEST_NEW_QUORUM: founded, asked for locks on some of
//! the nodes, and given other nodes while a lock is held. Asked for by name, as servers.rs. One test: each step needs
//! those before it.

use liblock::{AcquireOptions, Context, NodeState, OnNodesMismatch, Status};

mod support;
use support::{block_on, wait_until};

fn urls() -> Vec<String> {
    let url = std::env::var("LIBLOCK_TEST_NEW_QUORUM").expect("LIBLOCK_TEST_NEW_QUORUM has the url of five servers");
    let urls: Vec<String> = url.strip_prefix("quorum:").expect("a quorum").split(',').map(str::to_string).collect();
    assert_eq!(urls.len(), 5);
    urls
}

fn open(urls: &[String]) -> Context {
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    Context::builder().max_ttl_ms(1_000).servers(&urls).open_quorum().unwrap()
}

/// Addresses of the nodes that vote, in the order of the url.
fn voting(context: &Context) -> Vec<String> {
    let nodes = context.quorum_status().unwrap().nodes;
    let voting = nodes.into_iter().filter(|node| node.state == NodeState::Up && !node.is_observer);
    voting.map(|node| node.address).collect()
}

fn locks_on_some_nodes_exclude_those_that_share_one(context: &Context, nodes: &[String]) {
    let on = |from: usize, to: usize| {
        let nodes: Vec<&str> = nodes[from..to].iter().map(String::as_str).collect();
        AcquireOptions::new().nodes(&nodes)
    };
    let nobody = AcquireOptions::new().nodes(&["redis://nobody:1"]);
    assert_eq!(context.try_acquire_with("a", &nobody).unwrap_err().status(), Status::InvalidArgument);
    let left = context.acquire_with("a", &on(0, 2)).unwrap();
    let right = context.acquire_with("a", &on(2, 4)).unwrap();
    assert_eq!(context.try_acquire_with("a", &on(1, 3)).unwrap_err().status(), Status::Busy);
    assert_eq!(context.try_acquire("a").unwrap_err().status(), Status::Busy);
    let owner = context.owner("o").unwrap();
    let mine = context.acquire_with("b", &on(0, 2).owner(&owner)).unwrap();
    let elsewhere = on(3, 4).owner(&owner).on_nodes_mismatch(OnNodesMismatch::FailIfDisjoint);
    assert_eq!(context.try_acquire_with("b", &elsewhere).unwrap_err().status(), Status::NodesMismatch);
    for guard in [left, right, mine] {
        guard.release().unwrap();
    }
    block_on(context.acquire_async("a", &AcquireOptions::new().wait_ms(5_000))).unwrap().release().unwrap();
}

#[test]
#[ignore = "needs LIBLOCK_TEST_NEW_QUORUM"]
fn a_quorum_is_founded_locks_on_some_nodes_and_gets_others_while_a_lock_is_held() {
    let urls = urls();
    let context = open(&urls[..4]);
    assert_eq!(context.try_acquire("early").unwrap_err().status(), Status::Quarantined);
    context.quorum_init(false).unwrap();
    wait_until(|| voting(&context).len() == 4);
    assert_eq!(block_on(context.quorum_init_async(false)).unwrap_err().status(), Status::NodesMismatch);
    locks_on_some_nodes_exclude_those_that_share_one(&context, &voting(&context));

    let other = open(&urls[..4]);
    let held = context.acquire("held").unwrap();
    let before = context.quorum_status().unwrap();
    assert_eq!(context.quorum_set_nodes(&["nonsense://"], &[], 0).unwrap_err().status(), Status::InvalidArgument);
    block_on(context.quorum_set_nodes_async(&[&urls[1], &urls[2], &urls[4]], &[&urls[3]], 0)).unwrap();
    wait_until(|| voting(&context) == [urls[1].clone(), urls[2].clone(), urls[4].clone()]);
    let after = context.quorum_status().unwrap();
    assert_eq!((after.observers, after.is_configuring, &after.cluster_id), (1, false, &before.cluster_id));
    assert!(after.epoch > before.epoch);
    wait_until(|| match held.verify() {
        Ok(_) => true,
        Err(error) => {
            assert_ne!(error.status(), Status::Lost, "the lock did not stay");
            false
        }
    });
    assert_eq!(other.try_acquire("held").unwrap_err().status(), Status::Busy);
    held.release().unwrap();
    wait_until(|| other.acquire_with("held", &AcquireOptions::new().wait_ms(1_000)).is_ok());
    assert_eq!(Context::open("local:").unwrap().quorum_init(false).unwrap_err().status(), Status::Unsupported);
}
