//! Log of NAT64: sessions and bindings that come and go.

use nat_log::{Ends, Far, Record};

use crate::core::{Binding, NatSession};

/// The record of a session.
pub fn of_session(is_new: bool, s: &NatSession) -> Record {
    let (host, answers) = (&s.forward, &s.reverse);
    let ends = Ends {
        host: (host.src.into(), host.src_port),
        outside: (answers.dst.into(), answers.dst_port),
        protocol: answers.protocol(),
        fib: s.data.in_fib,
        tunnel: None,
    };
    let far = Far {
        outside: (answers.src.into(), answers.src_port),
        inside: (host.dst.into(), host.dst_port),
    };
    Record::Session(is_new, ends, far)
}

/// The record of a binding.
pub fn of_binding(is_new: bool, b: &Binding) -> Record {
    Record::Binding(
        is_new,
        Ends {
            host: (b.forward.src.into(), b.forward.src_port),
            outside: (b.reverse.dst.into(), b.reverse.dst_port),
            protocol: b.reverse.protocol(),
            fib: b.forward.scope as u16,
            tunnel: None,
        },
    )
}
