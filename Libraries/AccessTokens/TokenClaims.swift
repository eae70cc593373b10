public import DocumentModel

/// The claims of a token: the user, the session, the device, the app, and the times.
///
/// The names of the claims are those that the client SDKs read: `iss` session, `sub` user, `stitch_devId`, `stitch_domainId` (app),
/// `typ`, `iat`, `exp`, `user_data`; Partita's own are `user_type`, `data`, `identities`, `jti` and `prt`.
public struct TokenClaims: Sendable {
    /// The purpose of a token.
    public enum TokenType: String, Hashable, Sendable {
        /// Sent with every call.
        case access
        /// Exchanged for an access token.
        case refresh
    }

    public var session: String
    public var user: String
    public var device: String
    public var app: String
    public var type: TokenType
    /// Seconds since 1970.
    public var issuedAt: Int64
    /// The expiry, in seconds since 1970; the token is refused from this second on.
    public var expiresAt: Int64
    /// `normal` or `server`.
    public var userType: String
    /// The user's profile from its identities.
    public var data: Document
    /// The user's custom data at the time of issue, as the SDKs expose it; `nil` for none.
    public var customData: Document?
    /// The user's identities, each `{id, provider_type}`.
    public var identities: [Document]
    /// The token's own id; refresh tokens have one.
    public var tokenId: String?
    /// The id of the refresh token that this one was exchanged for.
    public var parentTokenId: String?

    public init(
        session: String, user: String, device: String, app: String, type: TokenType, issuedAt: Int64, expiresAt: Int64,
        userType: String = "normal", data: Document = Document(), customData: Document? = nil,
        identities: [Document] = [],
        tokenId: String? = nil, parentTokenId: String? = nil
    ) {
        self.session = session
        self.user = user
        self.device = device
        self.app = app
        self.type = type
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.userType = userType
        self.data = data
        self.customData = customData
        self.identities = identities
        self.tokenId = tokenId
        self.parentTokenId = parentTokenId
    }
}

extension TokenClaims {
    /// The claims set as JSON. Times are plain integers, as the SDKs require; documents keep their types (canonical Extended JSON).
    var json: [UInt8] {
        var fields: [(name: String, value: Value, mode: ExtendedJSON.Mode)] = [
            ("iss", .string(session), .relaxed), ("sub", .string(user), .relaxed),
            ("stitch_devId", .string(device), .relaxed), ("stitch_domainId", .string(app), .relaxed),
            ("typ", .string(type.rawValue), .relaxed), ("iat", .int64(issuedAt), .relaxed),
            ("exp", .int64(expiresAt), .relaxed),
        ]
        if type == .access {
            fields.append(("user_type", .string(userType), .relaxed))
            if !data.fields.isEmpty { fields.append(("data", .document(data), .canonical)) }
            if !identities.isEmpty { fields.append(("identities", .array(identities.map(Value.document)), .canonical)) }
            if let customData { fields.append(("user_data", .document(customData), .canonical)) }
        }
        if let tokenId { fields.append(("jti", .string(tokenId), .relaxed)) }
        if let parentTokenId { fields.append(("prt", .string(parentTokenId), .relaxed)) }
        var bytes: [UInt8] = []
        for field in fields {
            bytes.append(bytes.isEmpty ? UInt8(ascii: "{") : UInt8(ascii: ","))
            ExtendedJSON.append(.string(field.name), mode: .relaxed, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            ExtendedJSON.append(field.value, mode: field.mode, to: &bytes)
        }
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    init(_ document: Document) throws(AccessTokenError) {
        func text(_ name: String) throws(AccessTokenError) -> String {
            guard let text = document[name]?.stringValue, !text.isEmpty else {
                throw AccessTokenError(.claimInvalid, "\(name) is missing")
            }
            return text
        }
        func seconds(_ name: String) throws(AccessTokenError) -> Int64 {
            guard let seconds = document[name]?.int64Value else {
                throw AccessTokenError(.claimInvalid, "\(name) is missing or not a whole number")
            }
            return seconds
        }
        guard let type = TokenType(rawValue: try text("typ")) else {
            throw AccessTokenError(.claimInvalid, "typ is unknown")
        }
        self.init(
            session: try text("iss"), user: try text("sub"), device: try text("stitch_devId"),
            app: try text("stitch_domainId"), type: type, issuedAt: try seconds("iat"), expiresAt: try seconds("exp"),
            userType: document["user_type"]?.stringValue ?? "normal",
            data: document["data"]?.documentValue ?? Document(),
            customData: document["user_data"]?.documentValue,
            identities: document["identities"]?.arrayValue?.compactMap(\.documentValue) ?? [],
            tokenId: document["jti"]?.stringValue, parentTokenId: document["prt"]?.stringValue)
    }
}
