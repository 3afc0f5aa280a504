import Type from 'typebox'
import { Noun } from '#core/foundation/schema.ts'

export const Fingerprint = Type.String({
  pattern: '^SHA256:[0-9a-f]{64}$',
  maxLength: 71,
  description: 'SHA256: and the SHA-256 of an Ed25519 key in hexadecimal.',
})

/** What a person confirms when a package has another signer or comes from elsewhere. */
export const CONFIRMED_ORIGIN = {
  trustKey: Type.Optional({
    ...Fingerprint,
    description:
      'Trusts this key for the plugin: the fingerprint of a key that signed the package. Accepts no package without a signature, and no other key.',
  }),
  moveFrom: Type.Optional(
    Type.String({
      maxLength: 2_000,
      description:
        'Moves the plugin to the place that the package comes from. Names the place it belongs to now: the address of a repository, or files.',
    }),
  ),
}

export const PluginSignatureView = Noun('PluginSignature')({
  signedBy: Type.Array(Fingerprint, { description: 'The keys that signed the package; empty if it is not signed.' }),
  signedBefore: Type.Array(Fingerprint, { description: 'The keys that could sign it until now; empty for a first version.' }),
  mayFollow: Type.Array(Fingerprint, { description: 'The keys that may sign the next version.' }),
  remarks: Type.Array(Type.String(), { description: 'What the signature does not prove, in sentences.' }),
})
