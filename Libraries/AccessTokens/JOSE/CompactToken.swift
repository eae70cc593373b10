import DocumentModel

/// A token in its compact form that is safe to give to the JOSE library.
///
/// cjose 0.6 ends the process (an assertion) at a base64 text that can't be one, so nothing else may come to it.
struct CompactToken: Sendable {
    /// The longest token that is looked at, in bytes.
    static let maximumBytes = 16_384

    let text: String
    let header: Document
    let signatureBytes: Int

    /// Reads the header; knows nothing of the signature yet.
    ///
    /// - Throws: `malformed` when it isn't three parts of base64url with a JSON object in front, `headerRefused` when the header
    ///   demands what isn't understood.
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
        signatureBytes = signature.count
    }

    /// - Throws: `algorithmRefused` when the header names another algorithm than the key's.
    func require(algorithm: String) throws(AccessTokenError) {
        guard header["alg"]?.stringValue == algorithm else {
            throw AccessTokenError(.algorithmRefused, "the algorithm isn't \(algorithm)")
        }
    }
}
