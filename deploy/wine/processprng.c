// ProcessPrng (bcryptprimitives.dll) fills a buffer with random bytes. Go's runtime needs it, and Wine before 9 has no such library.
// Here it is SystemFunction036 of advapi32 (RtlGenRandom), which those versions have.
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG length);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE buffer, SIZE_T length)
{
	return SystemFunction036(buffer, (ULONG)length);
}

BOOL WINAPI DllMain(HINSTANCE instance, DWORD reason, LPVOID reserved)
{
	return TRUE;
}
