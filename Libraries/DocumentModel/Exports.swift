// Code that uses documents also uses the texts that they are keyed by.
@_exported import Texts
