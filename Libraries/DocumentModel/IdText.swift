extension Value {
    /// The unique text form of a value as an `_id`: its `keyText` if it has one, the integer's for a whole number of another type,
    /// and `e:` with canonical Extended JSON for all other types. Two values are the same `_id` by MongoDB's equality exactly if
    /// their texts are equal. `nil` for arrays, regular expressions and `undefined`, which can't be an `_id`.
    public var idText: String? {
        switch self {
        case .array, .regex, .undefined: return nil
        default: break
        }
        let value = representative
        return value.keyText ?? "e:" + ExtendedJSON.print(value, mode: .exact)
    }

    /// A value that equals the one with this text; `nil` if the text isn't an `_id`'s.
    public init?(idText: some StringProtocol) {
        guard idText.startsWithBytes(of: "e:") else {
            self.init(keyText: idText)
            return
        }
        guard let value = try? ExtendedJSON.parse(String(decoding: idText.utf8.dropFirst(2), as: UTF8.self)) else {
            return nil
        }
        self = value
    }

    /// A value that is the same for all values that are equal.
    fileprivate var representative: Value {
        switch self {
        case .int32, .int64, .double, .decimal128: representativeNumber
        case .symbol(let text): .string(text)
        case .document(let document): .document(document.representative)
        case .array(let elements): .array(elements.map(\.representative))
        case .code(let code) where code.scope != nil:
            .code(Code(code.source, scope: code.scope?.representative))
        default: self
        }
    }

    private var representativeNumber: Value {
        if let whole = int64Value { return .int64(whole) }
        guard case .decimal128(let number) = self else {
            return .double(doubleValue.map { $0.isNaN ? .nan : $0 } ?? 0)
        }
        let double = Value.double(number.doubleValue)
        if self == double { return double.representativeNumber }
        // The same number may be written with other numbers of digits.
        guard case .finite(let isNegative, var coefficient, var exponent) = number.parts else { return self }
        while coefficient != 0, coefficient % 10 == 0, exponent < 6111 {
            (coefficient, exponent) = (coefficient / 10, exponent + 1)
        }
        return Decimal128(negative: isNegative, coefficient: coefficient, exponent: exponent).map { .decimal128($0) }
            ?? self
    }
}

extension Document {
    fileprivate var representative: Document {
        Document(fields: fields.map { .init($0.key, $0.value.representative) })
    }
}
