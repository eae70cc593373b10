/// Where a call comes from.
struct CallOrigin: Sendable {
    /// The caller's address, by which attempts are counted; empty when it isn't known.
    var address: String
    /// What the calling program says that it is (`User-Agent`), the first 256 bytes.
    var agent = ""
}
