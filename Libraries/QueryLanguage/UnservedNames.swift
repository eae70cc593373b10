import DocumentModel

/// Stages and operators of MongoDB that are refused wherever they stand, so that a text which uses one can be found out before it runs.
public enum UnservedNames {
    /// Others are refused only at some places, such as `$sampleRate` outside of a `$match`.
    private static let operators: Set<ExactText> = [
        "$where", "$function", "$accumulator", "$toHashedIndexKey", "$encStrContains", "$encStrEndsWith",
        "$encStrStartsWith", "$encStrNormalizedEq", "$createObjectId", "$sigmoid", "$minMaxScaler", "$$CLUSTER_TIME",
        "$$USER_ROLES",
    ]

    /// Whether a name, with its `$`, is one of them.
    public static func contains(_ name: String) -> Bool {
        operators.contains(ExactText(name)) || StageParser.unserved.contains(name)
    }
}
