use super::*;

/// Create a thing.
#[derive(Command, Debug, PartialEq)]
#[command("create thing")]
struct CreateThing {
    /// its name
    #[positional]
    #[values("thing")]
    name: String,
    /// its size
    size: Option<u32>,
    /// hardware address
    #[keyword("hw-addr")]
    #[alias("mac")]
    address: Option<String>,
    /// labels
    label: Vec<u8>,
    /// delete it
    del: bool,
}

#[test]
fn a_command_is_parsed_in_any_order() {
    let mut cli: Cli<Vec<CreateThing>> = Cli::new();
    cli.command(|cx: &mut Vec<_>, c: CreateThing| {
        cx.push(c);
        Ok(())
    });
    let mut cx = Vec::new();
    let reply = cli.run(&mut cx, "cr th del label 1 mac aa pg0 label 2 size 7");
    assert_eq!(reply.text(), "");
    assert_eq!(
        cx[0],
        CreateThing {
            name: "pg0".into(),
            size: Some(7),
            address: Some("aa".into()),
            label: vec![1, 2],
            del: true
        }
    );
}
