//! The derives behind `control::cli::Command` and the messages of `control::api`.
//!
//! They add trait impls only and never create a name that is not in the source.
#![forbid(unsafe_code)]

mod body;
mod field;
mod message;
mod refusal;
mod words;

use proc_macro::TokenStream;
use proc_macro2::TokenStream as TokenStream2;
use quote::{format_ident, quote};
use syn::punctuated::Punctuated;
use syn::{Data, DeriveInput, Error, Fields, Ident, LitStr, Token, parse_macro_input};

use field::Field;

/// Makes a struct a CLI command: `#[command("path words")]`, then its fields as arguments.
///
/// | field | grammar |
/// |---|---|
/// | `vni: u32` | `vni <vni>`, must be there |
/// | `vni: Option<u32>` | may be left out |
/// | `label: Vec<u32>` | `label <label>`, any number of times |
/// | `del: bool` | `del` |
/// | `#[opposite("add")]` | a word that takes the flag back |
/// | `#[positional]` | the value without a keyword (`T`, `Option`, `Vec`), in field order |
/// | `#[keyword("hw-addr")]` | another word than the field's name with `-` for `_` |
/// | `#[alias("mac")]` | one more word for the same argument |
/// | `#[rest]` | `String` or `Option<String>`: the remaining text as typed |
/// | `#[values("interface")]` | live names that complete it, unless its name says which |
/// | `#[values("on\|off")]` | words that it may be |
/// | `#[words]` | a value that derives `Words`; without a keyword it may stand anywhere |
/// | `#[default]`, `#[default(7)]` | what a value is that is left out |
/// | `#[flatten]` | the arguments of a struct that derives `Arguments` |
///
/// Arguments may be given in any order; a word that the first free position refuses goes to the
/// next one that accepts it. Doc comments are the help text. `#[command("a b", "c d")]` gives a
/// command two paths, `#[command()]` none: `Cli::command_at` sets its path.
#[proc_macro_derive(
    Command,
    attributes(
        command, positional, keyword, alias, opposite, rest, values, words, default, flatten
    )
)]
pub fn command(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Makes a command print itself in the words that parse to it: the inverse of
/// `#[derive(Command)]`, for commands of a configuration. `#[stage(Routes)]` says when it comes
/// there; without, it is one of `Settings`. `#[undo("…")]` says what takes it back
/// ([`Print::UNDO`](control::cli::Print)).
#[proc_macro_derive(Print, attributes(stage, undo))]
pub fn print(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand_print(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Makes a struct arguments that several commands have: fields as for `Command`.
#[proc_macro_derive(
    Arguments,
    attributes(positional, keyword, alias, opposite, rest, values, words, default, flatten)
)]
pub fn arguments(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand_arguments(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Makes the variants of an enum words of a command line: `round-robin` for `RoundRobin`, unless
/// `#[word("rr")]` says another. A variant with one field is its word and a value behind it.
///
/// The enum is also `Display` and `Serialize` by its words, and one without fields `FromStr`. With
/// `#[number(Type)]` the variants are the constants of these [`numbers`](control::numbers) under
/// the same names in capitals.
#[proc_macro_derive(Words, attributes(word, number))]
pub fn words(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    words::words(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Makes a struct a message of the binary API; `control::api` says how.
#[proc_macro_derive(
    Message,
    attributes(
        name,
        head,
        reply,
        replies,
        details,
        stream,
        silent,
        events,
        option,
        counted,
        flatten,
        preset,
        discriminator
    )
)]
pub fn message(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    message::message(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Makes a struct a type that fields of messages may have.
#[proc_macro_derive(Record, attributes(name, file, counted, flatten, preset, discriminator))]
pub fn record(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    message::record(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Makes a struct fields that several messages have, for their fields with `#[flatten]`, or that
/// are all of their replies, with `#[replies(…)]`.
#[proc_macro_derive(Fields, attributes(name, counted, flatten, preset, discriminator))]
pub fn shared(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    message::shared(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Makes an enum the arms of a union, for fields of type `Overlay`.
#[proc_macro_derive(Union, attributes(name, file, case))]
pub fn union(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    message::union(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Makes an enum the reasons for which requests are refused, or a struct the only one.
///
/// The doc comment of a variant is the text of the error, with its fields in braces (`{0}`, or
/// their names), and `#[retval(NO_SUCH_ENTRY)]` the number that clients of the binary API get, or
/// `#[retval(-22)]` where messages of a module have numbers of their own.
/// `#[from]` on a variant with a reason of another kind turns such reasons into it; it has their
/// number, unless it says another. `#[from(NoInterface)]` turns them into a variant without fields.
#[proc_macro_derive(Refusal, attributes(retval, from))]
pub fn refusal(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    refusal::refusal(&input).unwrap_or_else(Error::into_compile_error).into()
}

fn expand(input: &DeriveInput) -> syn::Result<TokenStream2> {
    let paths = paths(input)?;
    let about = field::doc(&input.attrs);
    if about.is_empty() {
        return Err(Error::new_spanned(&input.ident, "needs a doc comment: it is the help text"));
    }
    let fields = fields(input)?;
    let Reading { infos, starts, read, finishes } = Reading::of(&fields);
    let name = &input.ident;
    Ok(quote! {
        impl ::control::cli::Command for #name {
            const PATHS: &'static [&'static str] = &[#(#paths),*];
            const ABOUT: &'static str = #about;
            const ARGS: &'static [::control::cli::ArgInfo] = #infos;

            fn parse(
                args: &mut ::control::cli::Args<'_>,
            ) -> ::core::result::Result<Self, ::control::cli::Error> {
                #(#starts)*
                let mut take = |args: &mut ::control::cli::Args<'_>|
                    -> ::core::result::Result<bool, ::control::cli::Error>
                {
                    #read
                    Ok(false)
                };
                while !args.is_empty() {
                    if !take(args)? {
                        return Err(args.unknown_of(Self::ARGS));
                    }
                }
                Ok(#finishes)
            }
        }
    })
}

fn expand_arguments(input: &DeriveInput) -> syn::Result<TokenStream2> {
    let fields = fields(input)?;
    let Reading { infos, read, finishes, .. } = Reading::of(&fields);
    let variables: Vec<_> = fields.iter().map(Field::variable).collect();
    let types = fields.iter().map(Field::read_type);
    let prints = fields.iter().map(Field::print);
    let name = &input.ident;
    Ok(quote! {
        impl ::control::cli::Arguments for #name {
            const ARGS: &'static [::control::cli::ArgInfo] = #infos;
            type Read = (#(#types,)*);

            fn take(
                read: &mut Self::Read,
                args: &mut ::control::cli::Args<'_>,
            ) -> ::core::result::Result<bool, ::control::cli::Error> {
                let (#(#variables,)*) = read;
                #read
                Ok(false)
            }

            fn finish(
                mut read: Self::Read,
            ) -> ::core::result::Result<Self, ::control::cli::Error> {
                let (#(#variables,)*) = &mut read;
                Ok(#finishes)
            }

            fn print(&self, line: &mut ::control::cli::Line<'_>) {
                #(#prints)*
            }
        }
    })
}

/// Code that reads the fields of a struct from a line.
struct Reading {
    /// All arguments.
    infos: TokenStream2,
    /// Variables.
    starts: Vec<TokenStream2>,
    /// Reads one argument and returns that it did.
    read: TokenStream2,
    /// The struct.
    finishes: TokenStream2,
}

impl Reading {
    fn of(fields: &[Field]) -> Self {
        let parts: Vec<_> = fields.iter().map(Field::infos).collect();
        let infos = match fields.iter().any(Field::is_flat) {
            true => quote!({
                const PARTS: &[&[::control::cli::ArgInfo]] = &[#(#parts),*];
                const COUNT: usize = ::control::cli::count(PARTS);
                const JOINED: [::control::cli::ArgInfo; COUNT] = ::control::cli::join(PARTS);
                &JOINED
            }),
            false => {
                let infos = fields.iter().map(Field::info);
                quote!(&[#(#infos),*])
            }
        };
        let keywords = fields.iter().filter(|f| f.has_keyword()).map(Field::read_keyword);
        let words = fields.iter().filter(|f| f.is_known_by_word()).map(Field::read_word);
        // Words that are none are for other positions first.
        let (last, first): (Vec<_>, Vec<_>) =
            fields.iter().filter(|f| !f.has_keyword()).partition(|f| f.is_known_by_word());
        let positions: Vec<_> = first.into_iter().chain(last).map(Field::read_position).collect();
        let positions = match positions.is_empty() {
            true => TokenStream2::new(),
            false => quote! {
                let start = *args;
                let mut refused: ::core::option::Option<::control::cli::Error> =
                    ::core::option::Option::None;
                let _ = (start, &mut refused);
                #(#positions)*
                if let Some(why) = refused {
                    return Err(why);
                }
            },
        };
        let finishes = fields.iter().map(Field::finish);
        Self {
            infos,
            starts: fields.iter().map(Field::start).collect(),
            read: quote!(#(#keywords)* #(#words)* #positions),
            finishes: quote!(Self { #(#finishes),* }),
        }
    }
}

fn expand_print(input: &DeriveInput) -> syn::Result<TokenStream2> {
    let (name, fields) = (&input.ident, fields(input)?);
    let stage = input.attrs.iter().find(|a| a.path().is_ident("stage"));
    let stage = stage.map(|a| a.parse_args::<Ident>()).transpose()?;
    let stage = stage.unwrap_or_else(|| format_ident!("Settings"));
    let undo = input.attrs.iter().find(|a| a.path().is_ident("undo"));
    let undo = undo.map(|a| a.parse_args::<LitStr>()).transpose()?;
    let undo = undo.map(|words| quote!(const UNDO: &'static str = #words;));
    let fields = fields.iter().map(Field::print);
    Ok(quote! {
        impl ::control::cli::Print for #name {
            const STAGE: ::control::configuration::Stage =
                ::control::configuration::Stage::#stage;
            #undo

            #[allow(unused_variables)]
            fn print(&self, line: &mut ::control::cli::Line<'_>) {
                #(#fields)*
            }
        }
    })
}

/// The strings of `#[command("…", "…")]`.
fn paths(input: &DeriveInput) -> syn::Result<Vec<LitStr>> {
    let Some(attr) = input.attrs.iter().find(|a| a.path().is_ident("command")) else {
        return Err(Error::new_spanned(&input.ident, "needs #[command(\"path words\")]"));
    };
    let paths = attr.parse_args_with(Punctuated::<LitStr, Token![,]>::parse_terminated)?;
    for path in &paths {
        let text = path.value();
        let words: Vec<_> = text.split_ascii_whitespace().collect();
        if words.is_empty() || words.join(" ") != text {
            return Err(Error::new_spanned(path, "words separated by single blanks"));
        }
    }
    Ok(paths.into_iter().collect())
}

fn fields(input: &DeriveInput) -> syn::Result<Vec<Field>> {
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(named) => named.named.iter().map(Field::new).collect(),
            Fields::Unit => Ok(Vec::new()),
            Fields::Unnamed(_) => Err(Error::new_spanned(&input.ident, "fields need names")),
        },
        _ => Err(Error::new_spanned(&input.ident, "expected a struct")),
    }
}
