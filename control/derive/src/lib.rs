//! The derives behind `control::cli::Command` and the messages of `control::api`.
//!
//! They add trait impls only and never create a name that is not in the source.
#![forbid(unsafe_code)]

mod field;
mod message;
mod refusal;

use proc_macro::TokenStream;
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
/// | `#[positional]` | the value without a keyword (`T`, `Option`, `Vec`), in field order |
/// | `#[keyword("hw-addr")]` | another word than the field's name with `-` for `_` |
/// | `#[alias("mac")]` | one more word for the same argument |
/// | `#[rest]` | `String` or `Option<String>`: the remaining text as typed |
/// | `#[values("interface")]` | live names that complete it, unless its name says which |
/// | `#[values("on\|off")]` | words that it may be |
///
/// Arguments come in any order. Doc comments are the help text. `#[command("a b", "c d")]` gives
/// a command two paths.
#[proc_macro_derive(Command, attributes(command, positional, keyword, alias, rest, values))]
pub fn command(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Makes a command print itself in the words that parse to it: the inverse of
/// `#[derive(Command)]`, for commands of a configuration. `#[stage(Routes)]` says when it comes
/// there; without, it is one of `Settings`.
#[proc_macro_derive(Print, attributes(stage))]
pub fn print(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand_print(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Makes a struct a message of the binary API; `control::api` says how.
#[proc_macro_derive(
    Message,
    attributes(
        name,
        head,
        reply,
        details,
        stream,
        silent,
        events,
        option,
        counted,
        preset,
        discriminator
    )
)]
pub fn message(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    message::message(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Makes a struct a type that fields of messages may have.
#[proc_macro_derive(Record, attributes(name, file, counted, preset, discriminator))]
pub fn record(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    message::record(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Makes an enum the arms of a union, for fields of type `Overlay`.
#[proc_macro_derive(Union, attributes(name, file, case))]
pub fn union(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    message::union(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Makes an enum the reasons for which requests are refused.
///
/// The doc comment of a variant is the text of the error, with its fields in braces (`{0}`, or
/// their names), and `#[retval(NO_SUCH_ENTRY)]` the number that clients of the binary API get.
#[proc_macro_derive(Refusal, attributes(retval))]
pub fn refusal(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    refusal::refusal(&input).unwrap_or_else(Error::into_compile_error).into()
}

fn expand(input: &DeriveInput) -> syn::Result<proc_macro2::TokenStream> {
    let paths = paths(input)?;
    let about = field::doc(&input.attrs);
    if about.is_empty() {
        return Err(Error::new_spanned(&input.ident, "needs a doc comment: it is the help text"));
    }
    let fields = fields(input)?;
    let infos = fields.iter().map(Field::info);
    let starts = fields.iter().map(Field::start);
    let keywords = fields.iter().filter(|f| f.has_keyword()).map(Field::read_keyword);
    let positions = fields.iter().filter(|f| !f.has_keyword()).map(Field::read_position);
    let finishes = fields.iter().map(Field::finish);
    let name = &input.ident;
    let body = match &input.data {
        Data::Struct(data) if matches!(data.fields, Fields::Unit) => quote!(Ok(Self)),
        _ => quote!(Ok(Self { #(#finishes),* })),
    };
    Ok(quote! {
        impl ::control::cli::Command for #name {
            const PATHS: &'static [&'static str] = &[#(#paths),*];
            const ABOUT: &'static str = #about;
            const ARGS: &'static [::control::cli::ArgInfo] = &[#(#infos),*];

            #[allow(unused_mut, clippy::never_loop)]
            fn parse(
                args: &mut ::control::cli::Args<'_>,
            ) -> ::core::result::Result<Self, ::control::cli::Error> {
                #(#starts)*
                while !args.is_empty() {
                    #(#keywords)*
                    #(#positions)*
                    return Err(args.unknown_of(Self::ARGS));
                }
                #body
            }
        }
    })
}

fn expand_print(input: &DeriveInput) -> syn::Result<proc_macro2::TokenStream> {
    let (name, fields) = (&input.ident, fields(input)?);
    let stage = input.attrs.iter().find(|a| a.path().is_ident("stage"));
    let stage = stage.map(|a| a.parse_args::<Ident>()).transpose()?;
    let stage = stage.unwrap_or_else(|| format_ident!("Settings"));
    let fields = fields.iter().map(Field::print);
    Ok(quote! {
        impl ::control::cli::Print for #name {
            const STAGE: ::control::configuration::Stage =
                ::control::configuration::Stage::#stage;

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
