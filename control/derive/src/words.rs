//! `Words`: enums as words of the command line.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Error, Fields, Ident, LitStr, Path, Type, Variant};

/// A variant, its word, and the type of the value behind it.
struct Choice<'a> {
    ident: &'a Ident,
    word: String,
    value: Option<&'a Type>,
}

pub fn words(input: &DeriveInput) -> syn::Result<TokenStream> {
    let Data::Enum(data) = &input.data else {
        return Err(Error::new_spanned(&input.ident, "expected an enum"));
    };
    let choices: Vec<_> = data.variants.iter().map(choice).collect::<syn::Result<_>>()?;
    let name = &input.ident;
    let values: Vec<_> = choices.iter().map(|c| c.word.as_str()).collect();
    let values = values.join("|");
    let is_plain = choices.iter().all(|c| c.value.is_none());
    let body = if is_plain { plain(name, &choices) } else { with_values(name, &choices) };
    let print = choices.iter().map(|Choice { ident, word, value }| match value {
        Some(_) => quote!(Self::#ident(value) => ::core::write!(f, "{} {value}", #word)),
        None => quote!(Self::#ident => f.pad(#word)),
    });
    let numbers = numbers(input, &choices)?;
    Ok(quote! {
        impl ::control::cli::Words for #name {
            const VALUES: &'static str = #values;
        }
        #body
        #numbers
        impl ::core::fmt::Display for #name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                match self { #(#print,)* }
            }
        }
        impl ::control::cli::Serialize for #name {
            fn serialize<S: ::control::cli::Serializer>(
                &self,
                serializer: S,
            ) -> ::core::result::Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    })
}

/// `round-robin` of `RoundRobin`.
fn kebab(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('-');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

fn choice(variant: &Variant) -> syn::Result<Choice<'_>> {
    let named = variant.attrs.iter().find(|a| a.path().is_ident("word"));
    let named = named.map(|a| a.parse_args::<LitStr>()).transpose()?;
    let word = named.map_or_else(|| kebab(&variant.ident.to_string()), |word| word.value());
    let value = match &variant.fields {
        Fields::Unit => None,
        Fields::Unnamed(inner) if inner.unnamed.len() == 1 => Some(&inner.unnamed[0].ty),
        _ => return Err(Error::new_spanned(variant, "expected one value at most")),
    };
    Ok(Choice { ident: &variant.ident, word, value })
}

/// An enum that is one word.
fn plain(name: &Ident, choices: &[Choice<'_>]) -> TokenStream {
    let (idents, words): (Vec<_>, Vec<_>) = choices.iter().map(|c| (c.ident, &c.word)).unzip();
    quote! {
        impl ::core::str::FromStr for #name {
            type Err = ();
            fn from_str(word: &str) -> ::core::result::Result<Self, ()> {
                match word {
                    #(#words => Ok(Self::#idents),)*
                    _ => Err(()),
                }
            }
        }
    }
}

/// An enum whose words may have values behind them.
fn with_values(name: &Ident, choices: &[Choice<'_>]) -> TokenStream {
    let take = choices.iter().map(|Choice { ident, word, value }| match value {
        Some(_) => quote!(if args.keyword(#word) { return Ok(Self::#ident(args.value(#word)?)); }),
        None => quote!(if args.keyword(#word) { return Ok(Self::#ident); }),
    });
    quote! {
        impl ::control::cli::Value for #name {
            fn take(
                args: &mut ::control::cli::Args<'_>,
                what: &str,
            ) -> ::core::result::Result<Self, ::control::cli::Error> {
                #(#take)*
                Err(args.error(::core::format_args!("invalid {what}")))
            }
        }
    }
}

/// The way to the numbers of messages and back.
fn numbers(input: &DeriveInput, choices: &[Choice<'_>]) -> syn::Result<TokenStream> {
    let Some(attr) = input.attrs.iter().find(|a| a.path().is_ident("number")) else {
        return Ok(TokenStream::new());
    };
    let (name, numbers) = (&input.ident, attr.parse_args::<Path>()?);
    let idents: Vec<_> = choices.iter().map(|c| c.ident).collect();
    let constants: Vec<_> = idents.iter().map(|ident| constant(ident)).collect();
    Ok(quote! {
        impl ::core::convert::From<#name> for #numbers {
            fn from(value: #name) -> Self {
                match value { #(#name::#idents => Self::#constants,)* }
            }
        }
        impl ::core::convert::TryFrom<#numbers> for #name {
            type Error = ::control::api::Retval;
            fn try_from(number: #numbers) -> ::core::result::Result<Self, Self::Error> {
                match number {
                    #(#numbers::#constants => Ok(Self::#idents),)*
                    _ => Err(::control::api::Retval::INVALID_VALUE),
                }
            }
        }
    })
}

/// `ROUND_ROBIN` of `RoundRobin`.
fn constant(ident: &Ident) -> Ident {
    format_ident!("{}", kebab(&ident.to_string()).to_uppercase().replace('-', "_"))
}
