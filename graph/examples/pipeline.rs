//! Clocks of a pipeline that does next to nothing: what the engine itself costs for each packet and
//! node.
//!
//! `cargo run --release -p graph --example pipeline [default|hsw|icl]`, pinned to a quiet CPU with
//! taskset.

use graph::{Engine, Frame, Input, InputState, Intake, Node, Settings};
use std::convert::Infallible;

#[derive(Clone)]
struct Gen(Vec<u8>);
#[derive(Clone, Copy, graph::Next)]
enum ToA {
    #[to("a")]
    A,
}
impl Input for Gen {
    const NAME: &'static str = "gen-input";
    type Next = ToA;
    type Error = Infallible;
    type Count = Infallible;
    const STATE: InputState = InputState::Polling;
    const DROP: &'static str = "end";
    #[inline(always)]
    fn poll<On: graph::Cpu>(&mut self, intake: &mut Intake<'_, Self, On>) {
        let t: &[u8; 64] = self.0.as_slice().try_into().unwrap();
        intake.each(256, 1, |p| {
            p.append_with(64)?.copy_from_slice(t);
            Some(ToA::A)
        });
    }
}
#[derive(Clone, Copy, graph::Reason)]
enum Bad {
    /// Too short.
    Short,
    /// Wrong byte.
    Wrong,
}
macro_rules! step {
    ($t:ident $n:literal $e:ident $to:literal $r:ident) => {
        #[derive(Clone)]
        struct $t;
        #[derive(Clone, Copy, graph::Next)]
        enum $e {
            #[to($to)]
            To,
            #[to("end")]
            Other,
        }
        impl Node for $t {
            const NAME: &'static str = $n;
            type Next = $e;
            type Error = Bad;
            type Count = Infallible;
            const DROP: &'static str = "end";
            #[inline(always)]
            fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
                frame.each(|p| {
                    let h = p.header::<[u8; 34]>().ok_or(Bad::Short)?;
                    if h[0] != 2 {
                        return Err(Bad::Wrong);
                    }
                    if h[13] == 7 {
                        return Ok($e::Other);
                    }
                    p.set_tx(3);
                    Ok($e::To)
                });
            }
        }
    };
}
step!(A "a" EA "b" RA);
step!(B "b" EB "c" RB);
step!(C "c" EC "d" RC);
step!(D "d" ED "end" RD);
#[derive(Clone)]
struct End;
impl Node for End {
    const NAME: &'static str = "end";
    type Next = Infallible;
    type Error = Infallible;
    type Count = Infallible;
    const DROP: &'static str = "end";
    #[inline(always)]
    fn process<On: graph::Cpu>(&mut self, frame: &mut Frame<'_, Self, On>) {
        let n = frame.len();
        frame.consume(|_| Ok(()));
        frame.count_out(n as u64);
    }
}
fn main() {
    let v = std::env::args().nth(1).map(|n| infra::cpu::Variant::from_name(&n).unwrap());
    let mut e = Engine::new(Settings { variant: v, ..Settings::default() }).unwrap();
    let mut b = vec![2u8; 64];
    b[12] = 8;
    e.add_input(Gen(b)).unwrap();
    e.add(A).unwrap();
    e.add(B).unwrap();
    e.add(C).unwrap();
    e.add(D).unwrap();
    e.add(End).unwrap();
    e.build().unwrap();
    e.start().unwrap();
    for _ in 0..5 {
        e.clear_runtime();
        std::thread::sleep(std::time::Duration::from_millis(500));
        let r = e.runtime_rows().unwrap();
        let t = &r[0];
        let s: Vec<String> = t
            .nodes
            .iter()
            .map(|n| {
                format!("{} {:.1}", n.name, n.stats.clocks as f64 / n.stats.vectors.max(1) as f64)
            })
            .collect();
        println!("{:.1} Mpps  {}", t.input as f64 / t.seconds / 1e6, s.join("  "));
    }
}
