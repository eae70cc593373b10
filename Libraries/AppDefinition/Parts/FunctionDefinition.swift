public import DocumentModel

/// A JavaScript function of the app.
public struct FunctionDefinition: Sendable {
    /// Its name, which includes the folder (`chat/notify`) if the app nests functions.
    public var name: String
    /// The file of the source inside the app's folder, for error messages.
    public var file: String
    /// The file that says who may call it, for error messages; `nil` when none names it.
    public var settingsFile: String?
    public var source: String
    /// Whether only the server may call it: triggers, rules and other functions.
    public var isPrivate: Bool
    /// Whether it runs without data rules.
    public var runsAsSystem: Bool
    /// The user as whom it runs, whoever the caller is; `nil`: the caller.
    public var runAsUserId: String?
    /// The name of the function that gets the same arguments when a client or an endpoint calls this one
    /// (`run_as_user_id_script_source`). It answers with the id of the user as whom this one runs, or with `{runAsSystem: true}`, unless the
    /// settings above say it; it refuses the call by throwing an error. `nil`: none.
    public var userFunction: String?
    /// Whether it runs as its caller, whom an endpoint then has to know by an access token.
    public var runsAsCaller: Bool { !runsAsSystem && runAsUserId == nil && userFunction == nil }
    /// The rule that must hold for the caller of a function that isn't private; `nil` allows every signed-in user.
    public var canEvaluate: RuleExpression?
    /// Whether arguments are kept out of the logs.
    public var hidesArguments: Bool
    /// Whether the app's configuration names it. One that is only there as a source is private.
    public var isListed: Bool

    /// A line of its source as one of its file; `nil` for a source that is a text in a file of settings.
    func line(_ line: Int) -> Int? { file.hasSuffix(".js") ? line : nil }
}

/// A named constant of the app, or a named reference to a secret.
public struct AppValue: Sendable {
    public var name: String
    /// The value; for one from a secret, the secret's name.
    public var value: Value
    public var isFromSecret: Bool
}
