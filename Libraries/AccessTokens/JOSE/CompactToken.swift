import DocumentModel

/// A token in its compact form that is safe to pass to the JOSE library.
///
/// cjose 0.6 aborts the process (with an assertion) on malformed base64, so only checked texts may be passed to it.
struct CompactToken: Sendable {
    /// The size of the longest accepted token, in bytes.
    static let maximumBytes = 16_384

    let text: String
    let header: Document
    let payload: [UInt8]
    let signature: [UInt8]

    /// What the signature is for: the first two parts.
    var signed: [UInt8] { Array(text.utf8.prefix(upTo: text.utf8.lastIndex(of: UInt8(ascii: ".")) ?? text.endIndex)) }

    /// Reads the header. Doesn't verify the signature.
    ///
    /// - Throws: `malformed` when it isn't three parts of base64url with a JSON object in front, `headerRefused` when the header
    ///   requires an extension that isn't supported.
    init(_ text: String) throws(AccessTokenError) {
        guard text.utf8.count <= Self.maximumBytes else { throw AccessTokenError(.malformed, "too long") }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let head = Base64URL.decode(parts[0]), let payload = Base64URL.decode(parts[1]),
            let signature = Base64URL.decode(parts[2]), !head.isEmpty, !payload.isEmpty
        else { throw AccessTokenError(.malformed, "not three parts of base64url") }
        let limits = ExtendedJSON.Limits(maximumDepth: 4, rejectDuplicateKeys: true)
        guard let header = try? ExtendedJSON.parseDocument(head, limits: limits) else {
            throw AccessTokenError(.malformed, "the header isn't a JSON object")
        }
        guard header["crit"] == nil else { throw AccessTokenError(.headerRefused, "crit isn't understood") }
        guard header["b64"] == nil, header["zip"] == nil else {
            throw AccessTokenError(.headerRefused, "an extension is used")
        }
        self.text = text
        self.header = header
        self.payload = payload
        self.signature = signature
    }

    /// - Throws: `algorithmRefused` when the header names a different algorithm.
    func require(algorithm: String) throws(AccessTokenError) {
        guard header["alg"]?.stringValue == algorithm else {
            throw AccessTokenError(.algorithmRefused, "the algorithm isn't \(algorithm)")
        }
    }
}
