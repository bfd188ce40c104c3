//! Each target with its corpus and then with new input for a while.
#![forbid(unsafe_code)]

use fuzz::targets::{
    Commands, Configuration, Firewall, Graphs, Headers, Ikev2, Ipsec, Memif, MessageBytes,
    Messages, Replay, Services, Tcp, Tunnels, VhostUser,
};
use fuzz::{Target, run};

fn tried<T: Target>(make: impl Fn() -> T) {
    let count = run(make);
    println!("{}: {count} inputs", T::NAME);
    assert!(count > 0);
}

#[test]
fn any_bytes_are_headers_or_not() {
    tried(|| Headers);
}

#[test]
fn any_message_of_ikev2_is_answered_within_bounds() {
    tried(Ikev2::new);
}

#[test]
fn any_segments_leave_a_connection_whole_or_end_it() {
    tried(|| Tcp);
}

#[test]
fn any_peer_shares_memory_or_is_refused() {
    tried(Memif::new);
}

#[test]
fn any_machine_shares_memory_or_is_refused() {
    tried(VhostUser::new);
}

#[test]
fn any_text_is_a_configuration_or_refused() {
    tried(|| Configuration);
}

#[test]
fn any_frame_is_forwarded_or_dropped_once() {
    tried(Graphs::new);
}

#[test]
fn any_sealed_packet_is_opened_or_dropped_once() {
    tried(Ipsec::new);
}

#[test]
fn only_answers_pass_a_firewall_from_outside() {
    tried(Firewall::new);
}

#[test]
fn sessions_of_services_end_whatever_comes() {
    tried(Services::new);
}

#[test]
fn any_line_is_carried_out_or_refused() {
    tried(Commands::new);
}

#[test]
fn any_message_is_answered_or_ignored() {
    tried(Messages::new);
}

#[test]
fn any_bytes_are_a_message_or_ignored() {
    tried(MessageBytes::default);
}

#[test]
fn what_a_router_was_told_makes_another_one_like_it() {
    tried(Replay::default);
}

#[test]
fn tunnels_through_themselves_drop_what_they_get() {
    tried(|| Tunnels);
}
