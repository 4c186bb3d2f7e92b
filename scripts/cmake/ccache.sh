#!/usr/bin/env bash
# Compiler launcher: ccache, made to hit in a clone in another folder too.
# $1 is the source folder; the rest is the compiler's command line.
# CMake names its precompiled header twice, once as a plain include with an absolute path that ccache does not
# make relative; the second naming is redundant beside -include-pch and is dropped.
export CCACHE_BASEDIR=$1 CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
shift
case "$*" in
*" -Xclang -include-pch "*)
  args=()
  while [ $# -gt 0 ]; do
    if [ "$1" = -Xclang ] && [ "${2-}" = -include ]; then
      shift 4
    else
      args+=("$1")
      shift
    fi
  done
  set -- "${args[@]}"
  ;;
esac
exec ccache "$@"
