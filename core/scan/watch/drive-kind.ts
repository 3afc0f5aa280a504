import { statfsSync } from 'node:fs'

/** File systems that do not report what other computers change, by their numbers in statfs(2). */
const SILENT_DRIVES: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0x01021997, '9P, as of a virtual machine'],
  [0x786f4256, 'a folder of VirtualBox'],
  // sshfs, rclone and virtiofs look the same, and report nothing that is changed elsewhere.
  [0x65735546, 'FUSE'],
  [0x00c36400, 'Ceph'],
  [0x5346414f, 'AFS'],
  [0x6b414653, 'AFS'],
  [0x73757245, 'Coda'],
  [0x7461636f, 'OCFS2'],
  [0x01161970, 'GFS2'],
  [0x0bd00bd0, 'Lustre'],
  [0x47504653, 'GPFS'],
])

/** The name of the file system if it does not report every change; null if it does. @throws as statfs does */
export const findSilentDrive = (folder: string): string | null => SILENT_DRIVES.get(statfsSync(folder).type >>> 0) ?? null
