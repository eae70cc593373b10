// Whoever has documents has the texts that they are keyed by.
@_exported import Texts
